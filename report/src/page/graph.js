// Who talks to whom: processes or hosts on a circle.
// By bytes, or by messages and operations.
const measurePicker = () => picker("measure", "show ", [["bytes", "bytes"], ["calls", "messages"]], "bytes");
const weigher = () => (option("measure", "bytes") === "calls" ? (link) => link.calls : (link) => link.bytes);
const MOST_NODES = 48, MOST_LINES = 300;
let graphKept = {};
const ofPlane = (dense, wide, place, areHosts) => {
  const calls = new Float64Array(wide * wide), bytes = new Float64Array(wide * wide);
  const places = Int32Array.from(range(dense.side), (at) => place(at * dense.block));
  const [steps, sizes] = ["calls", "bytes"].map((name) => Float64Array.from(range(256), (code) => level(dense[name], code)));
  for (let from = 0, at = 0; from < dense.side; from++) {
    const isOn = places[from] >= 0 && (!on.ranked || on.rank(from * dense.block));
    for (let to = 0; to < dense.side; to++, at++) {
      if (!isOn || places[to] < 0 || !dense.calls.cells[at] || (places[from] === places[to] && !areHosts)) continue;
      calls[places[from] * wide + places[to]] += steps[dense.calls.cells[at]];
      bytes[places[from] * wide + places[to]] += sizes[dense.bytes.cells[at]];
    }
  }
  return { calls, bytes };
};
view("graph", (body) => {
  const layer = option("layer", usualSource()), weigh = weigher();
  const { list, of, dense } = pairsOf(layer);
  const areHosts = (ranks.rows > MOST_NODES && hosts.length > 1) || data.profile.detail === "node";
  if (!areHosts && ranks.rows > 4 * MOST_NODES) return fill(body, nothing("All ranks are on one host: see the matrix of messages between ranks."));
  const nodes = areHosts ? hosts : range(ranks.rows).map((at) => String(ranks.rank[at])), wide = nodes.length;
  const place0 = (rank) => { const at = placeOf.get(rank); return at === undefined ? -1 : areHosts ? ranks.host[at] : at; };
  const sumOf = { calls: new Float64Array(wide * wide), bytes: new Float64Array(wide * wide) };
  const add = (from, to, calls, bytes) => {
    if (from < 0 || to < 0 || (from === to && !areHosts)) return;
    sumOf.calls[from * wide + to] += calls;
    sumOf.bytes[from * wide + to] += bytes;
  };
  for (const at of list) add(place0(of.src[at]), place0(of.dst[at]), of.calls[at], of.bytes[at]);
  if (dense) {
    const key = `${areHosts} ${on.ranked}`;
    if (graphKept.key !== key) graphKept = { key, ...ofPlane(dense, wide, (rank) => place0(rank), areHosts) };
    for (let at = 0; at < wide * wide; at++) { sumOf.calls[at] += graphKept.calls[at]; sumOf.bytes[at] += graphKept.bytes[at]; }
  }
  const all = [];
  for (let at = 0; at < sumOf.calls.length; at++) if (sumOf.calls[at] > 0) all.push({ from: nodes[Math.floor(at / wide)], to: nodes[at % wide], calls: sumOf.calls[at], bytes: sumOf.bytes[at] });
  all.sort(descending(weigh));
  const names = nodes.filter((name) => !on.ranked || all.some((link) => link.from === name || link.to === name)).slice(0, 4 * MOST_NODES);
  const left = layer === "mpi" ? [] : data.flows?.left ?? [];
  const notes = on.window ? ofWindow(layer).map((note) => el("p", { class: "about" }, note)) : [];
  notes.push(...[...(layer.endsWith("~") ? ["Dashed: modelled, bytes that rings and trees over the ranks in order send, by formula."] : []), ...left].map((note) => el("p", { class: "about" }, note)));
  if (!all.length) return fill(body, nothing(), notes);
  const sizeOf = 560, middle = sizeOf / 2, radius = middle - 70;
  const place = new Map(names.map((name, at) => { const angle = (2 * Math.PI * at) / names.length - Math.PI / 2; return [name, [middle + radius * Math.cos(angle), middle + radius * Math.sin(angle)]]; }));
  const most = Math.max(weigh(all[0]), 1);
  const drawn = all.filter((link) => place.has(link.from) && place.has(link.to) && link.from !== link.to).slice(0, MOST_LINES);
  const picture = svg("svg", { viewBox: `0 0 ${sizeOf} ${sizeOf}`, width: sizeOf, height: sizeOf, role: "img", "aria-label": `${several(names.length, areHosts ? "host" : "process", areHosts ? "hosts" : "processes")} and ${several(all.length, "link")}; the heaviest is from ${all[0].from} to ${all[0].to}` });
  for (const link of drawn.reverse()) {
    const [x1, y1] = place.get(link.from), [x2, y2] = place.get(link.to);
    const [cx, cy] = [(x1 + x2) / 2 + (y2 - y1) * 0.12 + (middle - (x1 + x2) / 2) * 0.3, (y1 + y2) / 2 - (x2 - x1) * 0.12 + (middle - (y1 + y2) / 2) * 0.3];
    const part = weigh(link) / most;
    picture.append(svg("path", { d: `M${x1} ${y1}Q${cx} ${cy} ${x2} ${y2}`, fill: "none", stroke: "var(--moving)", "stroke-dasharray": layer.endsWith("~") ? "5 4" : null, "stroke-opacity": 0.25 + 0.7 * part, "stroke-width": 0.7 + 4 * Math.sqrt(part) }, tip(`${link.from} to ${link.to}: ${bytesText(Math.round(link.bytes))} in ${several(Math.round(link.calls), "message")}`)));
  }
  // Labels that have room: the circle takes 64.
  const step = Math.ceil(names.length / 64);
  for (const [name, [x, y]] of place) {
    const host = areHosts ? name : hostOf(Number(name));
    const right = x >= middle;
    picture.append(svg("circle", { cx: x, cy: y, r: 7, fill: hostColour(host), stroke: "var(--ink)" }, tip(areHosts ? name : `rank ${name} on ${host}`)),
      svg("text", { x: middle + (x - middle) * 1.06, y: middle + (y - middle) * 1.06 + 4, "text-anchor": Math.abs(x - middle) < 20 ? "middle" : right ? "start" : "end" }, names.indexOf(name) % step ? "" : cut(name, 12)));
  }
  fill(body, tools(sourcesOf().length > 1 ? picker("layer", "of ", sourcesOf(), usualSource()) : null, measurePicker()), notes,
    el("figure", {}, picture, !areHosts && hosts.length > 1 ? legend(hosts.slice(0, 16).map((host) => [hostColour(host), host])) : null,
      all.length > drawn.length ? el("p", { class: "about" }, `Lines of the ${drawn.length} heaviest of ${several(all.length, "link")}.`) : null),
    folded("graph", "The links as a table", false, () => table("graph", "Messages by sender and receiver", [word("from", "from", (row) => row.from), word("to", "to", (row) => row.to), count("messages", "calls", (row) => Math.round(row.calls)), size("bytes", "bytes", (row) => Math.round(row.bytes))], all), all.length > 5000));
});
