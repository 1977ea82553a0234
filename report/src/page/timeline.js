// Calls of every rank over time. What a reader looks at stays while filters change.
const looked = { span: null, range: null, row: 0, call: -1 };
let following = 0, counting = 0;
const wholeOf = (shown) => {
  const { begin_ns } = data.timeline.calls, { end_ns } = traced(), until = data.timeline.until_ns;
  let first = Infinity, last = -Infinity;
  for (const lane of shown.lanes) { first = Math.min(first, begin_ns[shown.list[lane.from]]); last = Math.max(last, shown.reach[lane.to - 1]); }
  const whole = [first, Math.max(last, first + 1)];
  if (until !== null) whole[1] = Math.max(whole[0] + 1, Math.min(whole[1], until));
  return whole;
};
view("timeline", (body) => {
  const { calls } = data.timeline, { end_ns } = traced(), shown = lanesShown();
  if (!shown.lanes.length) return fill(body, nothing());
  const whole = wholeOf(shown), width = roomOf(body);
  const [low, high] = on.window ?? looked.span ?? whole;
  let span = [Math.max(whole[0], low), Math.min(whole[1], high)];
  if (!(span[1] > span[0])) span = whole;
  if (on.window) looked.span = span;
  const colouring = option("colour", "op"), wantedText = wanted.find?.join(",") ?? "", isFound = finderOf(wantedText), found = isFound ? Array.from(shown.list).filter(isFound).sort((a, b) => calls.begin_ns[a] - calls.begin_ns[b]) : [];
  const palette = paletteOf(colouring, isFound), isShown = new Uint8Array(calls.rows);
  for (const at of shown.list) isShown[at] = 1;
  const canvas = el("canvas", { tabindex: 0, role: "application", "aria-roledescription": "timeline" }), over = el("canvas", { "aria-hidden": "true" });
  canvas.style.maxWidth = over.style.maxWidth = "none";
  Object.assign(canvas.style, { touchAction: "pan-y", cursor: "crosshair" });
  Object.assign(over.style, { position: "absolute", left: 0, top: 0, pointerEvents: "none" });
  const frame = el("div", {}, canvas, over);
  Object.assign(frame.style, { position: "relative", width: `${width}px` });
  const readout = el("output", { class: "readout", "aria-live": "polite" }), note = el("p", { class: "about", "data-note": "arrows" }), numbers = el("div", {}), byRanks = el("div", {});
  let picture = null, drawn = null;
  const picturedNow = () => {
    const rows = rowsOf(shown.lanes), layout = layOutTrace(rows, width, span, whole);
    return { rows, layout, shown, palette, colouring, place: placesOf(rows), isOn: (at) => isShown[at], isPath: option("path") === "on", ground: colouring === "state" ? colourOf("--none") : "--none", key: `${fragment({ ...wanted, window: [], view: undefined })} ${width} ${isDark()}` };
  };
  const drawOn = (pen) => drawTrace(pen, picture);
  const looking = (more = {}) => { looked.row = Math.min(looked.row, picture.rows.length - 1); drawLook(canvasPen(over, width, picture.layout.height), picture, { call: looked.call, row: document.activeElement === canvas ? looked.row : -1, range: looked.range ?? undefined, ...more }); };
  const draw = () => {
    picture = picturedNow();
    drawn = drawOn(canvasPen(canvas, width, picture.layout.height));
    const { all, late, drawn: arrows } = drawn.messages;
    note.textContent = all ? `${several(all, "message")} in view, ${countText(late)} of them late: the receiver waited.${arrows < all ? ` ${countText(arrows)} have arrows${late ? ", those that were waited for longest" : ""}: zoom in for all.` : ""}` : "";
    looking();
    clearTimeout(counting);
    counting = setTimeout(tell, 150);
  };
  const partNow = () => looked.range ?? span;
  const tell = () => {
    const ranked = partOf(shown, whole).byRank, long = (whole[1] - whole[0]) * ranked.length;
    canvas.setAttribute("aria-label", `Timeline of ${several(new Set(ranked.map((own) => own.rank)).size, "rank")} with ${several(shown.list.length, "call")}: ${percentText(sum(ranked.map((own) => own.mpi_ns)), long)} in MPI, ${percentText(sum(ranked.map((own) => own.wait_ns)), long)} waiting. Shown: ${timeText(span[0])} to ${timeText(span[1])}. Arrow keys move, plus and minus zoom.`);
    const [byOp, byRank] = partTables(shown, partNow(), looked.range ? "Selected range" : "Visible part");
    fill(numbers, byOp);
    fill(byRanks, byRank);
    toRange.hidden = !looked.range;
  };
  const asText = (span) => span.map((ns) => String(Number((ns / 1e9).toFixed(9)))).join(":");
  // Other pictures follow when the hand rests.
  const follow = () => { if (!on.window) return; clearTimeout(following); following = setTimeout(() => go({ window: [asText(span)] }), 300); };
  const say = (text) => { readout.textContent = text; };
  const rowText = (row, ns) => {
    const slack = (span[1] - span[0]) / picture.layout.room, busy = row.lanes.map((lane) => callAt(lane, shown, ns, slack / 2)).filter((at) => at >= 0);
    const names = new Map();
    for (const at of busy) names.set(calls.op[at], (names.get(calls.op[at]) ?? 0) + 1);
    const [most] = [...names].sort(descending(([, times]) => times));
    return `${row.name} at ${timeText(ns)}: ${percentText(busy.length, row.lanes.length)} in MPI${most ? `, most in ${ops[most[0]].name}` : ""}. Click to ${unfolded.has(row.key) ? "fold" : "unfold"}.`;
  };
  const callUnder = ({ row, ns }) => { const of = picture.rows[row]; return of && !of.key ? callAt(of.lanes[0], shown, ns, ((span[1] - span[0]) / picture.layout.room) * 1.5) : -1; };
  const toCall = (call) => {
    looked.call = call;
    const at = picture.place[traced().laneOf[call]], wide = span[1] - span[0];
    if (at >= 0) looked.row = at;
    if (calls.begin_ns[call] < span[0] || end_ns[call] > span[1]) act.show([calls.begin_ns[call] - wide / 2, calls.begin_ns[call] + wide / 2]);
    else looking();
    say(callText(call));
  };
  const act = {
    layout: () => picture.layout,
    show: ([low, high]) => {
      const wide = Math.round(Math.min(whole[1] - whole[0], Math.max(100, high - low))), from = Math.round(Math.max(whole[0], Math.min(whole[1] - wide, low)));
      span = [from, from + wide];
      looked.span = wide < whole[1] - whole[0] ? span : null;
      draw();
      follow();
    },
    zoom: (factor, middle = (span[0] + span[1]) / 2) => {
      const [low, high] = span, wide = Math.min(whole[1] - whole[0], Math.max(100, (high - low) * factor)), from = middle - (middle - low) * (wide / (high - low));
      act.show([from, from + wide]);
    },
    move: (part) => { const [low, high] = span; act.show([low + part * (high - low), high + part * (high - low)]); },
    centre: (ns) => { const half = (span[1] - span[0]) / 2; act.show([ns - half, ns + half]); },
    select: (range) => { looked.range = range.map((ns) => Math.round(Math.max(whole[0], Math.min(whole[1], ns)))); looking(); clearTimeout(counting); counting = setTimeout(tell, 150); say(`Selected: ${timeText(looked.range[1] - looked.range[0])} from ${timeText(looked.range[0])}`); },
    look: (at) => {
      if (!at || at.row < 0 || at.isLabel) { looking(); return; }
      const call = callUnder(at), row = picture.rows[at.row];
      looking({ call: call >= 0 ? call : looked.call, ns: at.ns });
      say(call >= 0 ? callText(call) : !row ? "" : row.key ? rowText(row, at.ns) : `${row.name} at ${timeText(at.ns)}: work`);
    },
    choose: (at) => {
      const row = picture.rows[at.row];
      if (!row) return;
      looked.row = at.row;
      looked.range = null;
      if (row.key) return act.fold(row);
      looked.call = callUnder(at);
      looking();
      tell();
    },
    fold: (row) => { if (!unfolded.delete(row.key)) unfolded.add(row.key); draw(); },
    enlarge: (at) => { const call = callUnder(at); if (call < 0) return act.zoom(1 / 3, at.ns); const edge = Math.max(10, calls.length_ns[call] * 0.15); act.show([calls.begin_ns[call] - edge, end_ns[call] + edge]); },
    toRow: (step) => { looked.row = Math.max(0, Math.min(picture.rows.length - 1, looked.row + step)); looking(); say(picture.rows[looked.row].name); },
    step: (way) => {
      const row = picture.rows[looked.row], lane = row.lanes[0], { list } = shown;
      if (row.key) return act.fold(row);
      let at = firstAt(lane, shown.reach, span[0]);
      if (looked.call >= 0 && traced().laneOf[looked.call] === lane.number) { at = list.subarray(lane.from, lane.to).indexOf(looked.call) + lane.from + way; }
      if (at >= lane.from && at < lane.to) toCall(list[at]);
    },
    enter: () => { const row = picture.rows[looked.row]; if (row.key) return act.fold(row); if (looked.call >= 0) act.enlarge({ row: picture.place[traced().laneOf[looked.call]], ns: calls.begin_ns[looked.call] }); },
    leave: () => { looked.call = -1; looked.range = null; looking(); tell(); say(""); canvas.blur(); },
    find: (way) => {
      if (!found.length) return say(wantedText ? `No call matches “${wantedText}”.` : "Type an operation or a communicator to find.");
      const here = found.indexOf(looked.call), next = here >= 0 ? (here + way + found.length) % found.length : Math.max(0, found.findIndex((at) => calls.begin_ns[at] >= span[0]));
      toCall(found[next]);
      say(`${countText(next + 1)} of ${countText(found.length)}: ${callText(found[next])}`);
    },
  };
  handleTrace(canvas, act);
  canvas.addEventListener("focus", () => looking());
  canvas.addEventListener("blur", () => looking());
  const button = (text, does) => el("button", { type: "button", onclick: does }, text);
  const toRange = button("Zoom to the range", () => { const range = looked.range; looked.range = null; act.show(range); });
  const input = el("input", { name: "find", size: 16, value: wantedText, placeholder: "Allreduce, s0.1", onchange: () => { looked.call = -1; go({ find: input.value.trim() ? [input.value.trim()] : [] }); }, onkeydown: (event) => { if (event.key === "Enter" && input.value.trim() === wantedText) act.find(event.shiftKey ? -1 : 1); } });
  const { lanes } = traced(), all = new Set(lanes.map((lane) => lane.rank)).size;
  fill(body, tools(picker("colour", "colour ", [["op", "operation"], ["comm", "communicator"], ["state", "working, waiting, moving"]], "op"),
    el("label", {}, el("input", { type: "checkbox", name: "path", checked: option("path") === "on", onchange: (event) => go({ path: event.target.checked ? ["on"] : [] }) }), "critical path"),
    el("label", {}, "find ", input), isFound ? el("span", { "data-number": "found", "data-value": found.length }, `${several(found.length, "call")} found`) : null, isFound ? button("Next", () => act.find(1)) : null),
  tools(button("Zoom in", () => act.zoom(1 / 1.5)), button("Zoom out", () => act.zoom(1.5)), button("Whole timeline", () => act.show(whole)), toRange, el("button", { type: "button", name: "range", onclick: () => go({ window: [asText(partNow())] }) }, "Filter by this range"),
    el("label", {}, el("input", { type: "checkbox", name: "window", checked: Boolean(on.window), onchange: (event) => go({ window: event.target.checked ? [asText(partNow())] : [] }) }), "messages, graph, devices and layers show this part only")),
  el("p", { class: "about" }, `${several(data.timeline.shown, "call")} of ${countText(data.timeline.all)} are in the page${data.timeline.until_ns === null ? "" : `, of all ranks until ${timeText(data.timeline.until_ns)}`}. Gaps are work outside of MPI; orange is waiting. At the right: the time in MPI of each lane.${all > MOST_LANES ? ` ${countText(all)} ranks are folded: paler where fewer of them are in MPI; click a lane to unfold it.` : ""}`),
  el("div", { class: "scroll" }, frame), readout, note, colourLegend(colouring, shown),
  savers("timeline", () => { const pen = svgPen(width, picture.layout.height); drawOn(pen); pen.picture.setAttribute("role", "img"); return pen.picture; }, callColumns(), () => callsIn(shown, partNow())),
  option("path") === "on" ? pathWords() : null,
  el("div", { class: "columns" }, numbers, el("div", {}, byRanks, option("path") === "on" ? pathTable() : null)),
  folded("keys", "Mouse and keys", false, () => el("p", { class: "about" }, TRACE_HELP)),
  folded("timeline", "The calls as a table", false, () => table("timeline", on.window ? "Calls in the window" : "Calls on the timeline", callColumns(), on.window ? callsIn(shown, on.window) : Array.from(shown.list)), true));
  draw();
  tell();
});
