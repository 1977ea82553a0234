// Time per call against message size: of each operation and size a box over what the ranks need in the mean.
const MOST_BOXED = 6;
// The message size by the bytes of calls: one side of an exchange, also where all ranks send to all, or one of them sends to the others.
const messageBytes = (op, { sent, received, calls, peers }) => {
  const name = bare(ops[op].name);
  const bytes = /^i?bcast/.test(name) ? sent + received : /^i?allgather/.test(name) ? sent : Math.max(sent, received);
  return bytes / (/^i?alltoall(_c|_init)*$/.test(name) ? peers : calls);
};
const timesBySize = () => {
  const found = new Map();
  for (const at of sums.rows) {
    const { op, bucket, comm } = kinds[cells.kind[at]], calls = cells.calls[at];
    if (ops[op].sized === false || !(calls > 0)) continue;
    const key = `${op} ${bucket}`;
    if (!found.has(key)) found.set(key, { op, bucket, calls: 0, sent: 0, received: 0, peers: 0, time_ns: 0, ranks: new Map() });
    const one = found.get(key);
    one.calls += calls;
    one.sent += cells.bytes_sent[at];
    one.received += cells.bytes_recv[at];
    one.peers += calls * (comms[comm].size ?? 1);
    one.time_ns += cells.time_ns[at];
    const [before, time] = one.ranks.get(cells.rank[at]) ?? [0, 0];
    one.ranks.set(cells.rank[at], [before + calls, time + cells.time_ns[at]]);
  }
  const times = new Map();
  for (const { op, time_ns } of found.values()) times.set(op, (times.get(op) ?? 0) + time_ns);
  const shown = [...times].sort(descending(([, ns]) => ns)).slice(0, MOST_BOXED).map(([op]) => op);
  return shown.flatMap((op) => [...found.values()].filter((one) => one.op === op).map((one) => {
    const means = [...one.ranks.values()].map(([calls, ns]) => ns / calls).sort((a, b) => a - b), { lo, hi } = buckets[one.bucket];
    // Calls of 0 bytes have a place, too.
    const bytes = Math.max(1, lo, Math.min(hi ?? Infinity, messageBytes(op, one)));
    return { op, bucket: one.bucket, bytes, calls: one.calls, ranks: means.length, low: means[0], quarter: quantile(means, 0.25), median: quantile(means, 0.5), three: quantile(means, 0.75), high: means.at(-1) };
  }).sort((a, b) => a.bytes - b.bytes));
};
// Below the one size all messages went eagerly, above the other all by rendezvous, by the means of size classes. Nothing: layers do not tell, or not so.
const rendezvous = () => {
  const of = data.layers?.sums, means = { eager: 0, rndv: Infinity };
  for (let at = 0; at < (of?.rows ?? 0); at++) {
    const { words } = data.layers.routes[of.route[at]], kind = words[PLACES.layer] === "ucp" && /^(eager|rndv)/.exec(words[PLACES.protocol])?.[1];
    if (!kind || !of.calls[at]) continue;
    const mean = of.bytes[at] / of.calls[at];
    means[kind] = kind === "eager" ? Math.max(means.eager, mean) : Math.min(means.rndv, mean);
  }
  return means.eager > 0 && means.rndv < Infinity ? means : null;
};
// What the machine can do, by the pattern that the view of measurements shows: the time of the slowest rank by message size.
const machineLines = (pattern) => {
  const rows = data.bench.rows.filter((row) => row.step === 0 && row.pattern === pattern && row.median_s > 0), most = Math.max(...rows.map((row) => row.k));
  return seriesBy(rows.filter((row) => row.k === most), (row) => row.library)
    .map(([name, list]) => ({ name, points: list.map((row) => [Math.max(1, row.message_bytes ?? row.bytes), (row.half_trip_s ?? row.median_s) * 1e9]).sort(([a], [b]) => a - b) }));
};
const drawMachine = ({ picture, x, y }, lines) => lines.forEach(({ name, points }, at) => {
  const [firstX, firstY] = points[0];
  picture.append(svg("polyline", { points: points.map(([px, py]) => `${x(px)},${y(py)}`).join(" "), fill: "none", stroke: "var(--ink)", "stroke-width": 1.5, "stroke-dasharray": ["6 4", "2 3", "8 3 2 3"][at % 3], "data-machine": name }, tip(`measured: ${name}`)),
    svg("text", { x: x(firstX) + 2, y: y(firstY) - 6 }, `measured: ${name}`));
});
const drawRendezvous = ({ picture, x, top, bottom }, { eager, rndv }) => picture.append(svg("g", { "data-rendezvous": `${eager} ${rndv}` }, tip(`UCX sent messages up to ${bytesText(Math.round(eager))} eagerly, from ${bytesText(Math.round(rndv))} by rendezvous`),
  svg("rect", { x: x(eager), y: top, width: Math.max(1, x(rndv) - x(eager)), height: bottom - top, fill: "var(--none)" }),
  svg("text", { x: x(eager) - 4, y: top + 12, "text-anchor": "end", class: "soft" }, "eager"), svg("text", { x: x(rndv) + 4, y: top + 12, class: "soft" }, "rendezvous")));
const drawBoxes = ({ picture, x, y }, list) => {
  const shown = [...new Set(list.map(({ op }) => op))], places = [...new Set(list.map(({ bucket }) => bucket))].length;
  const half = Math.max(2, Math.min(6, (0.3 * (x(Math.max(...list.map(({ bytes }) => bytes))) - x(1))) / (places * shown.length)));
  // Operations of one size lie beside each other.
  const place = (one) => x(one.bytes) + (shown.indexOf(one.op) - (shown.length - 1) / 2) * (2 * half + 1);
  for (const op of shown) picture.append(svg("polyline", { points: list.filter((one) => one.op === op).map((one) => `${place(one)},${y(one.median)}`).join(" "), fill: "none", stroke: opColour(op), "stroke-opacity": 0.6 }));
  for (const one of list) picture.append(svg("g", { class: "click", "data-op": ops[one.op].name, "data-bucket": buckets[one.bucket].name, "data-median": one.median, onclick: () => go({ op: [ops[one.op].name] }) },
    tip(`${ops[one.op].name} of ${bytesText(Math.round(one.bytes))} in the mean: ${timeText(Math.round(one.median))} a call in the median of ${several(one.ranks, "rank")}, ${timeText(Math.round(one.low))} to ${timeText(Math.round(one.high))} over all; ${several(one.calls, "call")}`),
    box(place(one), half, y, one, opColour(one.op))));
};
const timeColumns = () => [word("operation", "op", (row) => ops[row.op].name), word("size class", "bucket", (row) => buckets[row.bucket].name), size("mean message size", "message_bytes", (row) => Math.round(row.bytes)), count("calls of ranks", "calls", (row) => row.calls), count("ranks", "ranks", (row) => row.ranks),
  ...[["min", "low"], ["25 %", "quarter"], ["median", "median"], ["75 %", "three"], ["max", "high"]].map(([title, key]) => time(title, `${key}_s`, (row) => row[key]))];
const sizeTimes = (body) => {
  const list = timesBySize();
  if (!list.length) return null;
  const patterns = data.bench ? [...new Set(data.bench.rows.map((row) => row.pattern))] : [];
  const lines = data.bench ? machineLines(patterns.includes(option("pattern")) ? option("pattern") : usualPattern()) : [], moved = rendezvous(), isClear = moved && moved.eager < moved.rndv;
  const xs = [...list.map((one) => one.bytes), ...lines.flatMap(({ points }) => points.map(([x]) => x))], ys = [...list.flatMap((one) => [one.low, one.high]), ...lines.flatMap(({ points }) => points.map(([, y]) => y))].map((ns) => Math.max(ns, 0.1));
  const [least, most] = [Math.min(...xs) / 1.6, Math.max(...xs) * 1.6], { op, median, bytes } = list.filter((one) => one.op === list[0].op).at(-1);
  const label = `Time per call against message size: ${ops[op].name} takes ${timeText(Math.round(median))} at ${bytesText(Math.round(bytes))} in the median of the ranks`;
  const drawn = axes({ name: "sizetimes", label, xs: [least, most], ys, xText: bytesText, yText: timeText, xTitle: "message size (mean of a size class)", yTitle: "time per call", base: 10, ticks: roundTicks(Math.max(1, least), most, true, 4), width: Math.min(1100, roomOf(body)), height: 340 });
  if (isClear) drawRendezvous(drawn, moved);
  drawBoxes(drawn, list);
  drawMachine(drawn, lines);
  const used = [...new Set(list.map((one) => one.op))];
  return figure("sizetimes", `Time per call against message size, both logarithmic: boxes over the means of ${blockOf() > 1 ? `blocks of ${blockOf()} ranks` : "the ranks"}${lines.length ? "; dashed: the measured machine" : ""}`, el("div", { class: "scroll" }, drawn.picture), timeColumns(), list,
    el("ul", { class: "legend" }, used.map((op) => el("li", {}, swatch(opColour(op)), link(shortOp(ops[op]), { op: [ops[op].name] })))), 
    lines.length && patterns.length > 1 ? tools(picker("pattern", "measured ", patterns.map((one) => [one, one]), usualPattern())) : null,
    moved ? el("p", { class: "about" }, isClear ? `UCX goes from eager to rendezvous between ${bytesText(Math.round(moved.eager))} and ${bytesText(Math.round(moved.rndv))}.` : `UCX sent messages between ${bytesText(Math.round(moved.rndv))} and ${bytesText(Math.round(moved.eager))} both eagerly and by rendezvous.`) : null,
    folded("sizetimes", "The boxes as a table", false, () => table("sizetimes", "Time per call over ranks, by operation and message size", timeColumns(), list)));
};
