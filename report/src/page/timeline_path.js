// The critical path: back from the end of the last rank, at each wait to the rank that was waited for.
// Parts from the last one to the first: { lane, op (-1: work), from_ns, to_ns }.
const criticalPath = once(() => {
  const { calls } = data.timeline, { lanes, laneOf, end_ns } = traced(), { by } = waitsTraced(), { begin_ns } = calls, parts = [];
  if (!calls.rows) return parts;
  let call = 0, first_ns = Infinity;
  for (let at = 0; at < calls.rows; at++) { if (end_ns[at] > end_ns[call]) call = at; first_ns = Math.min(first_ns, begin_ns[at]); }
  let lane = laneOf[call], now = end_ns[call];
  while (now > first_ns) {
    call = latestBefore(lanes[lane], now);
    if (call < 0 || end_ns[call] < now) {
      const from_ns = call < 0 ? first_ns : end_ns[call];
      parts.push({ lane, op: -1, from_ns, to_ns: now });
      now = from_ns;
      continue;
    }
    const late = by[call], isLate = late >= 0 && laneOf[late] !== lane && begin_ns[late] > begin_ns[call] && begin_ns[late] < now;
    const from_ns = isLate ? begin_ns[late] : begin_ns[call];
    parts.push({ lane, op: calls.op[call], from_ns, to_ns: now });
    now = from_ns;
    if (isLate) lane = laneOf[late];
  }
  return parts;
});
// The last call of a lane that begins before a time; -1: none.
const latestBefore = ({ first, after }, ns) => {
  const { begin_ns } = data.timeline.calls;
  let low = first, high = after;
  while (low < high) { const middle = (low + high) >> 1; if (begin_ns[middle] < ns) low = middle + 1; else high = middle; }
  return low > first ? low - 1 : -1;
};
// What it consists of, the longest first.
const pathShares = once(() => {
  const { lanes } = traced(), groups = new Map();
  for (const { lane, op, from_ns, to_ns } of criticalPath()) {
    const { rank } = lanes[lane], key = `${rank} ${op}`;
    if (!groups.has(key)) groups.set(key, { rank, op, time_ns: 0, times: 0 });
    const group = groups.get(key);
    group.time_ns += to_ns - from_ns;
    group.times += 1;
  }
  return [...groups.values()].sort(descending((group) => group.time_ns));
});
const pathName = (op) => (op < 0 ? "work" : ops[op].name);
const pathWords = () => {
  const [longest] = pathShares(), all = sum(pathShares().map((share) => share.time_ns));
  return el("p", { class: "about", "data-note": "path" }, longest ? `Critical path: ${percentText(longest.time_ns, all)} of its ${timeText(all)} are ${longest.op < 0 ? "work" : shortOp(ops[longest.op])} of rank ${longest.rank}. It goes back from the end of the last rank, at each wait to the rank that was waited for.` : "");
};
const pathTable = () => {
  const shares = pathShares(), all = sum(shares.map((share) => share.time_ns));
  return table("path", "The critical path by rank, and operation or work", [count("rank", "rank", (share) => share.rank), word("work or operation", "op", (share) => pathName(share.op)), time("time", "time_s", (share) => share.time_ns),
    { title: "of the path", name: "share", value: (share) => share.time_ns / all, text: (share) => percentText(share.time_ns, all), number: true }, count("parts", "parts", (share) => share.times)], shares, { most: 8 });
};
