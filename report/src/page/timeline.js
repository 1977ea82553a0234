// Calls of every rank over time. Wheel or + and - zoom, dragging or arrow keys move.
// Calls that begin in a window, by communicator and operation.
const operationsOf = (list) => {
  const { calls } = data.timeline, groups = new Map();
  for (const at of list) {
    const key = `${calls.comm[at]} ${calls.op[at]}`;
    if (!groups.has(key)) groups.set(key, { comm: comms[calls.comm[at]], op: ops[calls.op[at]], calls: 0, bytes: 0, time_ns: 0 });
    const group = groups.get(key);
    group.calls += 1; group.bytes += calls.bytes[at]; group.time_ns += calls.length_ns[at];
  }
  return table("window", `Calls that begin ${on.window ? "in the window" : "on the timeline"}, over all ranks; of bytes sent and received the larger`, [word("communicator", "comm", (group) => titleOf(group.comm)), word("operation", "op", (group) => group.op.name), count("calls of ranks", "calls", (group) => group.calls), time("time", "time_s", (group) => group.time_ns), size("bytes", "bytes", (group) => group.bytes)],
    [...groups.values()].sort(descending((group) => group.time_ns)));
};
let timeWindow = null, following = 0;
view("timeline", (body) => {
  const { calls, messages } = data.timeline;
  const list = range(calls.rows).filter((at) => commOn(calls.comm[at]) && (on.op ? on.op[calls.op[at]] : true) && on.rank(calls.rank[at]));
  if (!list.length) return fill(body, nothing());
  let first = Infinity, last = -Infinity;
  for (const at of list) { first = Math.min(first, calls.begin_ns[at]); last = Math.max(last, calls.begin_ns[at] + calls.length_ns[at]); }
  const whole = [first, Math.max(last, first + 1)];
  const until = data.timeline.until_ns;
  if (until !== null) whole[1] = Math.max(whole[0] + 1, Math.min(whole[1], until));
  if (on.window) timeWindow = [Math.max(whole[0], on.window[0]), Math.min(whole[1], on.window[1])];
  if (!timeWindow || !(timeWindow[1] > timeWindow[0])) timeWindow = whole;
  const all = [...new Set(list.map((at) => calls.rank[at]))].sort((a, b) => a - b), rows = all.slice(0, 128);
  const rowOf = new Map(rows.map((rank, at) => [rank, at]));
  const width = roomOf(body), left = 60, height = Math.max(8, Math.min(24, 900 / rows.length)), room = width - left;
  const canvas = el("canvas", { width: 2 * width, height: 2 * (rows.length * height + 22), tabindex: 0, role: "application", "aria-roledescription": "timeline", "aria-label": `Timeline of ${several(rows.length, "rank")} with ${several(list.length, "call")}. Arrow keys move, plus and minus zoom.` });
  canvas.style.width = `${width}px`;
  const readout = el("output", { class: "readout", "aria-live": "polite" });
  const x = (ns) => left + ((ns - timeWindow[0]) / (timeWindow[1] - timeWindow[0])) * room;
  const draw = () => {
    const pen = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name);
    pen.setTransform(2, 0, 0, 2, 0, 0);
    pen.clearRect(0, 0, width, canvas.height);
    pen.font = "11px sans-serif";
    rows.forEach((rank, row) => {
      pen.fillStyle = colour("--none");
      pen.fillRect(left, row * height + 1, room, height - 2);
      pen.fillStyle = colour("--ink");
      if (height >= 11 || row % 2 === 0) pen.fillText(String(rank), 8, row * height + height / 2 + 4);
    });
    for (const at of list) {
      const row = rowOf.get(calls.rank[at]);
      const from = Math.max(left, x(calls.begin_ns[at])), to = Math.min(width, x(calls.begin_ns[at] + calls.length_ns[at]));
      if (row === undefined || to < left || from > width) continue;
      pen.fillStyle = opColour(calls.op[at]);
      pen.fillRect(from, row * height + 1, Math.max(0.6, to - from), height - 2);
    }
    pen.strokeStyle = colour("--ink");
    pen.globalAlpha = 0.55;
    pen.beginPath();
    for (let at = 0; at < messages.rows; at++) {
      const from = rowOf.get(messages.src[at]), to = rowOf.get(messages.dst[at]);
      if (from === undefined || to === undefined || messages.received_ns[at] < timeWindow[0] || messages.sent_ns[at] > timeWindow[1]) continue;
      pen.moveTo(Math.max(left, x(messages.sent_ns[at])), (from + 0.5) * height);
      pen.lineTo(Math.max(left, x(messages.received_ns[at])), (to + 0.5) * height);
    }
    pen.stroke();
    pen.globalAlpha = 1;
    pen.fillStyle = colour("--soft");
    range(6).forEach((step) => { const ns = timeWindow[0] + ((timeWindow[1] - timeWindow[0]) * step) / 6; pen.fillText(timeText(Math.round(ns)), x(ns), rows.length * height + 16); });
  };
  const asText = () => timeWindow.map((ns) => String(Number((ns / 1e9).toFixed(9)))).join(":");
  // Other pictures follow when the hand rests.
  const follow = () => { if (!on.window) return; clearTimeout(following); following = setTimeout(() => go({ window: [asText()] }), 300); };
  const zoom = (factor, middle = (timeWindow[0] + timeWindow[1]) / 2) => {
    const wide = Math.min(whole[1] - whole[0], Math.max(100, (timeWindow[1] - timeWindow[0]) * factor));
    const from = Math.max(whole[0], Math.min(whole[1] - wide, middle - (middle - timeWindow[0]) * (wide / (timeWindow[1] - timeWindow[0]))));
    timeWindow = [from, from + wide];
    draw();
    follow();
  };
  const move = (part) => { const wide = timeWindow[1] - timeWindow[0], from = Math.max(whole[0], Math.min(whole[1] - wide, timeWindow[0] + part * wide)); timeWindow = [from, from + wide]; draw(); follow(); };
  const at = (event) => { const box = canvas.getBoundingClientRect(); return [timeWindow[0] + ((((event.clientX - box.left) / box.width) * width - left) / room) * (timeWindow[1] - timeWindow[0]), rows[Math.floor((((event.clientY - box.top) / box.height) * canvas.height) / 2 / height)]]; };
  canvas.addEventListener("wheel", (event) => { if (!event.ctrlKey && !event.shiftKey) return; event.preventDefault(); zoom(event.deltaY > 0 ? 1.3 : 1 / 1.3, at(event)[0]); }, { passive: false });
  let grip = null;
  canvas.addEventListener("mousedown", (event) => { grip = event.clientX; });
  canvas.addEventListener("mouseup", () => { grip = null; });
  canvas.addEventListener("mouseleave", () => { grip = null; });
  canvas.addEventListener("mousemove", (event) => {
    if (grip !== null) { move((grip - event.clientX) / room); grip = event.clientX; return; }
    const [ns, rank] = at(event);
    const call = list.find((one) => calls.rank[one] === rank && calls.begin_ns[one] <= ns && calls.begin_ns[one] + calls.length_ns[one] >= ns);
    readout.textContent = call === undefined ? "" : `rank ${rank}: ${ops[calls.op[call]].name} on ${titleOf(comms[calls.comm[call]])}, ${timeText(calls.length_ns[call])} from ${timeText(calls.begin_ns[call])}, ${bytesText(calls.bytes[call])}`;
  });
  canvas.addEventListener("keydown", (event) => {
    const keys = { ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), "+": () => zoom(1 / 1.5), "-": () => zoom(1.5), Home: () => { timeWindow = whole; draw(); follow(); } };
    if (keys[event.key]) { keys[event.key](); event.preventDefault(); }
  });
  const used = [...new Set(list.map((one) => calls.op[one]))];
  fill(body, tools(el("button", { type: "button", onclick: () => zoom(1 / 1.5) }, "Zoom in"), el("button", { type: "button", onclick: () => zoom(1.5) }, "Zoom out"), el("button", { type: "button", onclick: () => { timeWindow = whole; draw(); follow(); } }, "Whole window"),
    el("label", {}, el("input", { type: "checkbox", name: "window", checked: Boolean(on.window), onchange: (event) => go({ window: event.target.checked ? [asText()] : [] }) }), "messages, graph, devices and layers show this part only")),
    el("p", { class: "about" }, `${several(data.timeline.shown, "call")} of ${countText(data.timeline.all)} are in the page${all.length > rows.length ? `; rows of the first ${rows.length} of ${all.length} ranks` : ""}. Gaps are work outside of MPI.`),
    el("div", { class: "scroll" }, canvas), readout, opLegend(used),
    folded("window", on.window ? "Operations in the window" : "Operations on the timeline", false, () => operationsOf(list.filter((at) => inWindow(calls.begin_ns[at])))),
    folded("timeline", "The calls as a table", false, () => table("timeline", "Calls in the window", [count("rank", "rank", (one) => calls.rank[one]), word("operation", "op", (one) => ops[calls.op[one]].name), word("communicator", "comm", (one) => comms[calls.comm[one]].name), time("begin", "begin_s", (one) => calls.begin_ns[one]), time("length", "length_s", (one) => calls.length_ns[one]), size("bytes", "bytes", (one) => calls.bytes[one])], on.window ? list.filter((at) => calls.begin_ns[at] <= on.window[1] && calls.begin_ns[at] + calls.length_ns[at] >= on.window[0]) : list)));
  draw();
});
