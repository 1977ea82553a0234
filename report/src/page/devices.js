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
const isDevice = (node) => !["process", "host", "unknown", "other world"].includes(node.kind);
const COLUMN_X = [230, 500, 770], DEVICE_WIDTH = 1000;
// Three columns: who sends, devices, who receives; nodes of a host beside each other, with room between hosts.
const deviceColumns = (edges) => {
  const columns = [[], [], []], placeIn = (column, node) => { if (!columns[column].includes(node)) columns[column].push(node); };
  for (const { from, to } of edges) { placeIn(isDevice(from) ? 1 : 0, from); placeIn(isDevice(to) ? 1 : 2, to); }
  for (const column of columns) column.sort((a, b) => a.host.localeCompare(b.host, "en", { numeric: true }) || Number(a.label) - Number(b.label) || a.label.localeCompare(b.label));
  const rows = columns.map((column) => { let at = 0; return column.map((node, place) => (at += place && column[place - 1].host !== node.host ? 1.6 : 1)); });
  const height = Math.max(160, Math.max(...rows.map((row) => (row.at(-1) ?? 0) + 1)) * 26);
  return { columns, height, y: (column, node) => { const own = rows[column]; return (own[columns[column].indexOf(node)] * height) / ((own.at(-1) ?? 0) + 1); } };
};
const drawHostBars = (picture, { columns, y }) => {
  const names = apart(hosts, 14);
  [0, 2].forEach((index) => hosts.forEach((host, at) => {
    const own = columns[index].filter((node) => node.host === host && node.kind === "process");
    if (!own.length || hosts.length < 2) return;
    const [top, bottom] = [y(index, own[0]) - 9, y(index, own.at(-1)) + 9], x = COLUMN_X[index] + [-84, 84][index / 2];
    picture.append(svg("line", { x1: x, x2: x, y1: top, y2: bottom, stroke: hostColour(host), "stroke-width": 5, "data-host": host }, tip(host)), svg("text", { x: x + [-8, 8][index / 2], y: (top + bottom) / 2 + 4, "text-anchor": index ? "start" : "end" }, names[at]));
  }));
};
const drawDevices = (edges, { name, short, weigh, colour, label }) => {
  const laid = deviceColumns(edges), { columns, height, y } = laid, heaviest = Math.max(weigh(edges[0]), 1);
  const picture = svg("svg", { viewBox: `0 0 ${DEVICE_WIDTH} ${height}`, width: DEVICE_WIDTH, role: "img", "aria-label": label(columns) });
  for (const edge of [...edges].reverse()) {
    const { from, to, transport, calls, bytes } = edge, a = isDevice(from) ? 1 : 0, b = isDevice(to) ? 1 : 2;
    const [x1, y1, x2, y2] = [COLUMN_X[a], y(a, from), COLUMN_X[b], y(b, to)], wide = 2 * widthOf(weigh(edge), heaviest);
    // Between devices: on the right downwards, on the left upwards, a loop to itself.
    const bend = y1 > y2 ? -110 : 110, loop = from === to ? 30 : 0, angle = a === b ? Math.atan2(-loop, -bend) : 0;
    const end = [x2 - 14 * Math.cos(angle), y2 - 14 * Math.sin(angle)];
    picture.append(svg("path", { d: a === b ? `M${x1} ${y1}C${x1 + bend} ${y1 - loop} ${x1 + bend} ${y2 + loop} ${end[0]} ${end[1]}` : `M${x1} ${y1}C${(x1 + x2) / 2} ${y1} ${(x1 + x2) / 2} ${y2} ${end[0]} ${end[1]}`, fill: "none", stroke: colour(transport), "stroke-opacity": 0.75, "stroke-width": wide, "data-from": name(from), "data-to": name(to) },
      tip(`${name(from)} to ${name(to)} over ${transport || "?"}: ${bytesText(bytes)} in ${countText(calls)}`)), arrowHead(x2 - 6 * Math.cos(angle), y2 - 6 * Math.sin(angle), angle, 8 + wide, "var(--ink)"));
  }
  columns.forEach((column, index) => column.forEach((node) => picture.append(svg("circle", { cx: COLUMN_X[index], cy: y(index, node), r: 6, fill: hostColour(node.host), stroke: "var(--ink)" }, tip(name(node))),
    svg("text", { x: COLUMN_X[index] + [-12, 0, 12][index], y: y(index, node) + (index === 1 ? -10 : 4), "text-anchor": ["end", "middle", "start"][index] }, tip(name(node)), short(node)))));
  drawHostBars(picture, laid);
  return picture;
};
view("devices", (body) => {
  const areHosts = ranks.rows > MOST_PROCESSES || data.profile.detail === "node", weigh = weigher();
  const all = deviceGraph(areHosts).sort(descending(weigh)), edges = all.slice(0, MOST_LINES);
  if (!edges.length) return fill(body, nothing(), on.window ? ofWindow(data.flows.device_layers[0]).map((note) => el("p", { class: "about" }, note)) : null);
  const name = (node) => (isDevice(node) ? `${node.label} of ${node.host || "?"}` : node.kind === "process" ? `rank ${node.label}` : node.label);
  const nodes = [...new Set(edges.flatMap(({ from, to }) => [from, to]))], hostNames = new Map(apart(hosts, 14).map((text, at) => [hosts[at], text]));
  const labels = nodes.map((node) => (isDevice(node) ? (hosts.length > 1 ? `${node.label} of ${hostNames.get(node.host) ?? node.host ?? "?"}` : node.label) : hostNames.get(node.label) ?? name(node)));
  const short = new Map(apart(labels, 28).map((text, at) => [nodes[at], text]));
  const transports = [...new Set(edges.map((edge) => edge.transport))], colour = (transport) => KINDS[transports.indexOf(transport) % KINDS.length];
  const label = (columns) => `${several(columns[1].length, "device")} between ${several(columns[0].length, "sender")} and ${several(columns[2].length, "receiver")}; most from ${name(edges[0].from)} to ${name(edges[0].to)}`;
  const notes = [...(on.window ? ofWindow(data.flows.device_layers[0]) : []), ...((on.comm || on.op) && !movedPairs().isTold ? ["What layers moved is added up over communicators and operations here: these filters do not apply."] : []), ...(on.bucket || on.phase || on.site ? ["Filters by message size, phase and call site do not apply here."] : []),
    ...(all.length > edges.length ? [`The ${edges.length} heaviest of ${several(all.length, "edge")}.`] : [])];
  const columns = [word("from", "from", (edge) => name(edge.from)), word("to", "to", (edge) => name(edge.to)), word("transport", "transport", (edge) => edge.transport), count("operations", "calls", (edge) => edge.calls), size("bytes", "bytes", (edge) => edge.bytes)];
  fill(body, tools(measurePicker()), figure("devices", null, el("div", { class: "scroll" }, drawDevices(edges, { name, short: (node) => short.get(node), weigh, colour, label })), columns, all, legend(transports.map((transport) => [colour(transport), transport || "unknown transport"]))),
    el("p", { class: "about" }, `The widest arrow is ${(option("measure", "bytes") === "calls" ? countText : bytesText)(weigh(edges[0]))}; the width grows with it.`),
    notes.map((note) => el("p", { class: "about" }, note)),
    folded("devices", "The edges as a table", false, () => table("devices", "What went over each device", columns, all)));
});
