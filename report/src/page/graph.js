// Who talks to whom: processes or hosts on a circle.
// By bytes, or by messages and operations.
const measurePicker = () => picker("measure", "show ", [["bytes", "bytes"], ["calls", "messages"]], "bytes");
const weigher = () => (option("measure", "bytes") === "calls" ? (link) => link.calls : (link) => link.bytes);
const MOST_NODES = 48, MOST_LINES = 300, MOST_HOSTS = 64;
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
// Ranks, or hosts where there are many, and what went between them.
const graphOf = (layer) => {
  const areHosts = (ranks.rows > MOST_NODES && hosts.length > 1) || data.profile.detail === "node", { list, of, dense } = pairsOf(layer);
  const wide = areHosts ? hosts.length : ranks.rows, place = (rank) => { const at = placeOf.get(rank); return at === undefined ? -1 : areHosts ? ranks.host[at] : at; };
  const calls = new Float64Array(wide * wide), bytes = new Float64Array(wide * wide);
  for (const at of list) {
    const from = place(of.src[at]), to = place(of.dst[at]);
    if (from < 0 || to < 0 || (from === to && !areHosts)) continue;
    calls[from * wide + to] += of.calls[at];
    bytes[from * wide + to] += of.bytes[at];
  }
  if (dense) {
    const key = `${areHosts} ${on.ranked}`;
    if (graphKept.key !== key) graphKept = { key, ...ofPlane(dense, wide, place, areHosts) };
    for (let at = 0; at < wide * wide; at++) { calls[at] += graphKept.calls[at]; bytes[at] += graphKept.bytes[at]; }
  }
  const links = [];
  for (let at = 0; at < calls.length; at++) if (calls[at] > 0) links.push({ from: Math.floor(at / wide), to: at % wide, calls: calls[at], bytes: bytes[at] });
  return { areHosts, links: links.sort(descending(weigher())), nodes: range(wide).map((at) => (areHosts ? { at, host: hosts[at], name: hosts[at] } : { at, host: hosts[ranks.host[at]], name: String(ranks.rank[at]) })) };
};
const placeOfHost = once(() => new Map(hosts.map((host, at) => [host, at])));
const drawGraph = ({ areHosts, links, nodes }, layer) => {
  const weigh = weigher(), isMeant = new Set(links.flatMap(({ from, to }) => [from, to]));
  const weights = new Float64Array(nodes.length);
  for (const link of links) for (const at of [link.from, link.to]) weights[at] += weigh(link);
  const meant = nodes.filter(({ at }) => !on.ranked || isMeant.has(at)).sort(descending(({ at }) => weights[at])).slice(0, areHosts ? MOST_HOSTS : 4 * MOST_NODES);
  const shown = meant.sort((a, b) => (placeOfHost().get(a.host) - placeOfHost().get(b.host)) || a.at - b.at);
  const short = areHosts ? apart(shown.map(({ name }) => name), 16) : shown.map(({ name }) => name), placed = new Map(shown.map(({ at }, place) => [at, place]));
  const within = new Map(links.filter(({ from, to }) => from === to).map((link) => [link.from, link]));
  const told = (link) => `${bytesText(Math.round(link.bytes))} in ${several(Math.round(link.calls), "message")}`, kind = areHosts ? "" : "rank ";
  const drawn = links.filter(({ from, to }) => placed.has(from) && placed.has(to) && from !== to).slice(0, MOST_LINES);
  const lines = drawn.map((link) => ({ from: placed.get(link.from), to: placed.get(link.to), value: weigh(link), isDashed: layer.endsWith("~"), title: `${kind}${nodes[link.from].name} to ${kind}${nodes[link.to].name}: ${told(link)}` })).reverse();
  const circles = shown.map((node, at) => ({ name: short[at], host: node.host, colour: hostColour(node.host), title: areHosts ? `${node.name}${within.has(node.at) ? `, inside: ${told(within.get(node.at))}` : ""}` : `rank ${node.name} on ${node.host}` }));
  const [first] = links, label = `${several(shown.length, areHosts ? "host" : "process", areHosts ? "hosts" : "processes")} and ${several(links.length, "link")}; the heaviest is from ${kind}${nodes[first.from].name} to ${kind}${nodes[first.to].name}: ${told(first)}`;
  return { picture: circleGraph(circles, lines, { label, name: "graph" }), shown: shown.length, drawn: drawn.length, most: drawn.length ? weigh(drawn[0]) : 0 };
};
view("graph", (body) => {
  const layer = option("layer", usualSource());
  if (!layer) return fill(body, noMatrix());
  if (ranks.rows > 4 * MOST_NODES && hosts.length === 1) return fill(body, nothing("All ranks are on one host: see the matrix of messages between ranks."));
  const graph = graphOf(layer), { links, nodes } = graph, text = option("measure", "bytes") === "calls" ? (value) => several(Math.round(value), "message") : (value) => bytesText(Math.round(value));
  const notes = [...(on.window ? ofWindow(layer) : []), ...(layer.endsWith("~") ? ["Dashed: modelled, bytes that rings and trees over the ranks in order send, by formula."] : []), ...(layer === "mpi" ? [] : data.flows?.left ?? [])].map((note) => el("p", { class: "about" }, note));
  if (!links.length) return fill(body, nothing(), notes);
  const { picture, shown, drawn, most } = drawGraph(graph, layer);
  const columns = [word("from", "from", (row) => nodes[row.from].name), word("to", "to", (row) => nodes[row.to].name), count("messages", "calls", (row) => Math.round(row.calls)), size("bytes", "bytes", (row) => Math.round(row.bytes))];
  fill(body, tools(sourcesOf().length > 1 ? picker("layer", "of ", sourcesOf(), usualSource()) : null, measurePicker()), notes,
    el("div", { class: "columns" }, figure("graph", null, el("div", { class: "scroll" }, picture), columns, links, most ? widthLegend(most, text) : null,
      graph.areHosts && nodes.length > shown ? el("p", { class: "about" }, `The ${shown} hosts with most traffic, of ${countText(nodes.length)}.`) : null,
      links.length > drawn ? el("p", { class: "about" }, `Arrows of the ${drawn} heaviest of ${several(links.length, "link")}${graph.areHosts ? "; those inside a host have none" : ""}.`) : null),
    folded("graph", "The links as a table", links.length <= 5000, () => table("graph", "Messages by sender and receiver", columns, links, { most: 14 }), links.length > 5000)));
});
