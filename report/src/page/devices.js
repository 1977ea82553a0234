// The devices that layers moved data over: from the process through devices to the process, or from memory to memory.
const MOST_PROCESSES = 32;
const deviceGraph = (areHosts) => {
  const { list, of } = flowsOf((route) => data.flows.device_layers.includes(route.words[PLACES.layer]));
  const nodes = new Map(), edges = new Map();
  const node = (kind, host, label) => { const key = `${kind} ${label} of ${host}`; if (!nodes.has(key)) nodes.set(key, { kind, host, label, at: nodes.size }); return nodes.get(key); };
  const end = (rank) => {
    if (rank < 0) return rank === -2 ? node("other world", "", "other world") : node("unknown", "", "?");
    return areHosts && hostOf(rank) ? node("host", hostOf(rank), hostOf(rank)) : node("process", hostOf(rank), String(rank));
  };
  const memory = (name, host) => (name === "host" ? node("host", host, host || "host") : node("gpu", host, name));
  for (const at of list) {
    const { words: [, , , transport, device, kind], ends } = data.layers.routes[of.route[at]], host = hostOf(of.src[at]);
    // A host has one memory, whatever transports call it.
    const between = kind === "network" ? [node(kind, host, device), ...(of.far[at] < 0 ? [] : [node(kind, hostOf(of.dst[at]), (on.window ? data.timeline : data.flows).far[of.far[at]])])]
      : kind === "self" || (kind !== "memory" && !device) ? [] : [node(kind, host, kind === "memory" ? "memory" : device)];
    const stations = ends ? ends.map((name) => memory(name, host)) : [end(of.src[at]), ...between, end(of.dst[at])];
    for (let hop = 1; hop < stations.length; hop++) {
      const [from, to] = [stations[hop - 1], stations[hop]], key = `${from.at} ${to.at} ${transport}`;
      if (!edges.has(key)) edges.set(key, { from, to, transport, calls: 0, bytes: 0 });
      edges.get(key).calls += of.calls[at];
      edges.get(key).bytes += of.bytes[at];
    }
  }
  return [...edges.values()];
};
view("devices", (body) => {
  const areHosts = ranks.rows > MOST_PROCESSES || data.profile.detail === "node", weigh = weigher();
  const all = deviceGraph(areHosts).sort(descending(weigh)), edges = all.slice(0, MOST_LINES);
  if (!edges.length) return fill(body, nothing(), on.window ? ofWindow(data.flows.device_layers[0]).map((note) => el("p", { class: "about" }, note)) : null);
  const isDevice = (node) => !["process", "host", "unknown", "other world"].includes(node.kind);
  const name = (node) => (isDevice(node) ? `${node.label} of ${node.host || "?"}` : node.kind === "process" ? `rank ${node.label}` : node.label);
  // Three columns: who sends, devices, who receives.
  const columns = [[], [], []];
  const placeIn = (column, node) => { if (!columns[column].includes(node)) columns[column].push(node); };
  for (const { from, to } of edges) { placeIn(isDevice(from) ? 1 : 0, from); placeIn(isDevice(to) ? 1 : 2, to); }
  const most = Math.max(...columns.map((column) => column.length));
  const height = Math.max(160, most * 26), width = 1000, xs = [200, 500, 800];
  for (const column of columns) column.sort((a, b) => a.host.localeCompare(b.host) || Number(a.label) - Number(b.label) || a.label.localeCompare(b.label));
  const y = (column, node) => ((columns[column].indexOf(node) + 0.5) * height) / columns[column].length;
  const heaviest = Math.max(weigh(edges[0]), 1);
  const transports = [...new Set(edges.map((edge) => edge.transport))];
  const colour = (transport) => KINDS[transports.indexOf(transport) % KINDS.length];
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": `${several(columns[1].length, "device")} between ${several(columns[0].length, "sender")} and ${several(columns[2].length, "receiver")}` });
  for (const edge of edges) {
    const { from, to, transport, calls, bytes } = edge;
    const a = isDevice(from) ? 1 : 0, b = isDevice(to) ? 1 : 2;
    const [x1, y1, x2, y2] = [xs[a], y(a, from), xs[b], y(b, to)];
    // Between devices: on the right downwards, on the left upwards, a loop to itself.
    const bend = y1 > y2 ? -110 : 110, loop = from === to ? 30 : 0;
    picture.append(svg("path", { d: a === b ? `M${x1} ${y1}C${x1 + bend} ${y1 - loop} ${x1 + bend} ${y2 + loop} ${x2} ${y2}` : `M${x1} ${y1}C${(x1 + x2) / 2} ${y1} ${(x1 + x2) / 2} ${y2} ${x2} ${y2}`, fill: "none", stroke: colour(transport), "stroke-opacity": 0.75, "stroke-width": 1 + 8 * Math.sqrt(weigh(edge) / heaviest) },
      tip(`${name(from)} to ${name(to)} over ${transport || "?"}: ${bytesText(bytes)} in ${countText(calls)}`)),
    svg("path", { d: "M-6 0l-9 -4v8z", fill: "var(--ink)", transform: `translate(${x2} ${y2}) rotate(${a === b ? (Math.atan2(-loop, -bend) * 180) / Math.PI : 0})` }));
  }
  columns.forEach((column, index) => column.forEach((node) => picture.append(svg("circle", { cx: xs[index], cy: y(index, node), r: 6, fill: hostColour(node.host), stroke: "var(--ink)" }),
    svg("text", { x: xs[index] + [-12, 0, 12][index], y: y(index, node) + (index === 1 ? -10 : 4), "text-anchor": ["end", "middle", "start"][index] }, tip(name(node)), cut(name(node), 28)))));
  const notes = [...(on.window ? ofWindow(data.flows.device_layers[0]) : []), ...((on.comm || on.op) && !movedPairs().isTold ? ["What layers moved is added up over communicators and operations here: these filters do not apply."] : []), ...(on.bucket || on.phase || on.site ? ["Filters by message size, phase and call site do not apply here."] : []),
    ...(all.length > edges.length ? [`The ${edges.length} heaviest of ${several(all.length, "edge")}.`] : [])];
  fill(body, tools(measurePicker()), el("figure", {}, el("div", { class: "scroll" }, picture), legend(transports.map((transport) => [colour(transport), transport || "unknown transport"]))),
    notes.map((note) => el("p", { class: "about" }, note)),
    folded("devices", "The edges as a table", false, () => table("devices", "What went over each device", [word("from", "from", (edge) => name(edge.from)), word("to", "to", (edge) => name(edge.to)), word("transport", "transport", (edge) => edge.transport), count("operations", "calls", (edge) => edge.calls), size("bytes", "bytes", (edge) => edge.bytes)], all)));
});
