// Lines over the lanes: messages, late ones marked, the critical path, and what belongs to the call below the mouse.
// In which row each lane is; of folded ones that are unfolded, in their own.
const placesOf = (rows) => {
  const place = new Int32Array(traced().lanes.length).fill(-1);
  rows.forEach((row, at) => { if (!row.key || !unfolded.has(row.key)) for (const lane of row.lanes) place[lane.number] = at; });
  return place;
};
const isLate = (receive, send) => { const { wait_ns, by } = waitsTraced(); return by[receive] === send && wait_ns[receive] > 0; };
const drawArrow = (pen, { layout, place }, send, receive, colour, thick, opacity, hasHead = true) => {
  const { begin_ns } = data.timeline.calls, { end_ns, laneOf } = traced(), { x, y, high } = layout;
  const from = [x(begin_ns[send]), y(place[laneOf[send]]) + high / 2], to = [x(end_ns[receive]), y(place[laneOf[receive]]) + high / 2];
  pen.line([from, to], colour, { thick, opacity });
  const long = Math.hypot(to[0] - from[0], to[1] - from[1]);
  if (long < 12 || !hasHead) return;
  const [along, across] = [(to[0] - from[0]) / long, (to[1] - from[1]) / long], tip = (side) => [to[0] - 7 * along + 3 * side * across, to[1] - 7 * across - 3 * side * along];
  pen.line([tip(1), to, tip(-1)], colour, { thick, opacity });
};
// Messages, those that were waited for longest first.
const messagesByWait = once(() => {
  const { messages } = data.timeline, { wait_ns } = waitsTraced(), waited = Float64Array.from(messages.receive, (receive, at) => (isLate(receive, messages.send[at]) ? wait_ns[receive] : 0));
  return { waited, order: Uint32Array.from(range(messages.rows)).sort((a, b) => waited[b] - waited[a]) };
});
// Messages in view; where there are so many that they would hide the calls, the late ones that were waited for longest.
const drawMessages = (pen, picture) => {
  const { calls, messages } = data.timeline, { end_ns, laneOf } = traced(), { place, layout, isOn } = picture, [low, high] = layout.span;
  const { waited, order } = messagesByWait(), most = Math.round(layout.room / 4), shown = [];
  let all = 0, late = 0;
  for (const at of order) {
    const send = messages.send[at], receive = messages.receive[at];
    if (end_ns[receive] < low || calls.begin_ns[send] > high || !(isOn(send) || isOn(receive))) continue;
    const from = place[laneOf[send]], to = place[laneOf[receive]];
    if (from < 0 || to < 0 || from === to) continue;
    all += 1;
    if (waited[at] > 0) late += 1;
    if (shown.length < most) shown.push(at);
  }
  const areAll = all <= most, drawn = areAll ? shown : shown.filter((at) => waited[at] > 0);
  for (const at of drawn.reverse()) drawArrow(pen, picture, messages.send[at], messages.receive[at], waited[at] > 0 ? "--waiting" : "--ink", waited[at] > 0 && areAll ? 1.5 : 1, waited[at] > 0 && areAll ? 0.9 : 0.5, all < most / 3);
  return { all, late, drawn: drawn.length };
};
const drawPath = (pen, { layout, place }) => {
  const { x, y, span } = layout, points = [];
  for (const { lane, from_ns, to_ns } of criticalPath()) {
    if (to_ns < span[0]) break;
    if (from_ns > span[1] || place[lane] < 0) continue;
    // At the upper edge, where it hides no name. Parts that nobody sees are left out.
    const level = y(place[lane]) + 3, last = points.at(-1);
    if (last && last[0] - x(from_ns) < 0.5) continue;
    if (last?.[1] === level) last[0] = x(from_ns);
    else points.push([x(to_ns), level], [x(from_ns), level]);
  }
  if (points.length < 2) return;
  pen.line(points, "--ground", { thick: 5, opacity: 0.8 });
  pen.line(points, "--high", { thick: 2.5 });
};
const frameCall = (pen, { layout, place }, call, colour, thick) => {
  const { begin_ns } = data.timeline.calls, { end_ns, laneOf } = traced(), at = place[laneOf[call]];
  if (at < 0) return;
  const from = Math.max(layout.left, layout.x(begin_ns[call])), to = Math.min(layout.left + layout.room, layout.x(end_ns[call]));
  if (to >= layout.left && from <= layout.left + layout.room) pen.frame(from - 1, layout.y(at), Math.max(2, to - from) + 2, layout.high - 1, colour, thick);
};
// On a canvas over the picture: the row of the keyboard, the selected range, and what belongs to a call.
const drawLook = (pen, picture, { call, row, range: [low, high] = [], ns }) => {
  const { layout, place } = picture, { left, room, end, x, y } = layout, { laneOf } = traced();
  if (row >= 0) pen.rect(left - 4, y(row), 3, layout.high - 1, "--focus");
  pen.clip(left, 0, room, end, () => {
    if (ns !== undefined) pen.line([[x(ns), OVERVIEW], [x(ns), end]], "--soft", { dash: [2, 3] });
    if (low !== undefined) for (const edge of [low, high]) pen.line([[x(edge), OVERVIEW], [x(edge), end]], "--focus", { thick: 2 });
    if (low !== undefined) pen.rect(x(low), OVERVIEW + 2, x(high) - x(low), 4, "--focus");
    if (!(call >= 0)) return;
    const list = collectiveOf(call), { messages } = data.timeline;
    for (const other of list) frameCall(pen, picture, other, "--ink", 2);
    if (list.length > 1 && isCollectiveWhole(list)) frameCall(pen, picture, lastOf(list), "--high", 3);
    for (const at of messagesOf(call).slice(0, 500)) {
      const send = messages.send[at], receive = messages.receive[at];
      if (place[laneOf[send]] < 0 || place[laneOf[receive]] < 0) continue;
      drawArrow(pen, picture, send, receive, isLate(receive, send) ? "--high" : "--ink", 2.5, 1);
      frameCall(pen, picture, send === call ? receive : send, "--ink", 1.5);
    }
    frameCall(pen, picture, call, "--focus", 3);
  });
};
// What is said of a call.
const callText = (call) => {
  const { calls, messages } = data.timeline, { lanes, laneOf } = traced(), { wait_ns, by } = waitsTraced(), { rank, thread, hasThreads } = lanes[laneOf[call]];
  const words = [`rank ${rank}${hasThreads ? `, thread ${thread}` : ""}: ${ops[calls.op[call]].name} on ${titleOf(comms[calls.comm[call]])}, ${timeText(calls.length_ns[call])} from ${timeText(calls.begin_ns[call])}, ${bytesText(calls.bytes[call])}`];
  const list = collectiveOf(call);
  if (list.length > 1 && isCollectiveWhole(list)) {
    const last = lastOf(list), most = Math.max(...list.map((at) => wait_ns[at]));
    words.push(most > 0 ? `rank ${calls.rank[last]} was last, the others waited up to ${timeText(most)}` : `rank ${calls.rank[last]} was last`);
  }
  if (wait_ns[call] > 0) words.push(`waited ${timeText(wait_ns[call])} for rank ${calls.rank[by[call]]}`);
  const own = messagesOf(call);
  const ends = (name, key, other, way) => {
    const far = own.filter((at) => messages[key][at] === call).map((at) => calls.rank[messages[other][at]]), of = [...new Set(far)].sort((a, b) => a - b);
    if (far.length) words.push(`${name} ${several(far.length, "message")} ${way} ${of.length > 8 ? several(of.length, "rank") : `rank${of.length > 1 ? "s" : ""} ${rangesText(of)}`}`);
  };
  ends("sends", "send", "receive", "to");
  ends("receives", "receive", "send", "from");
  return words.join("; ");
};
