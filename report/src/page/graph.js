// Who talks to whom: processes or hosts on a circle; and the devices that data went over.
const MOST_NODES = 48, MOST_LINES = 300;
let graphKept = {};
const ofPlane = (dense, wide, place, areHosts) => {
  const calls = new Float64Array(wide * wide), bytes = new Float64Array(wide * wide);
  const places = Int32Array.from(range(dense.side), (at) => place(at * dense.block));
  const [steps, sizes] = ["calls", "bytes"].map((name) => Float64Array.from(range(256), (code) => level(dense[name], code)));
  for (let from = 0, at = 0; from < dense.side; from++) {
    const isOn = places[from] >= 0 && (!on.ranges || on.rank(from * dense.block));
    for (let to = 0; to < dense.side; to++, at++) {
      if (!isOn || places[to] < 0 || !dense.calls.cells[at] || (places[from] === places[to] && !areHosts)) continue;
      calls[places[from] * wide + places[to]] += steps[dense.calls.cells[at]];
      bytes[places[from] * wide + places[to]] += sizes[dense.bytes.cells[at]];
    }
  }
  return { calls, bytes };
};
view("graph", (body) => {
  const layer = option("layer", sourcesOf()[0][0]);
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
    const key = `${areHosts} ${wanted.rank ?? ""}`;
    if (graphKept.key !== key) graphKept = { key, ...ofPlane(dense, wide, (rank) => place0(rank), areHosts) };
    for (let at = 0; at < wide * wide; at++) { sumOf.calls[at] += graphKept.calls[at]; sumOf.bytes[at] += graphKept.bytes[at]; }
  }
  const all = [];
  for (let at = 0; at < sumOf.calls.length; at++) if (sumOf.calls[at] > 0) all.push({ from: nodes[Math.floor(at / wide)], to: nodes[at % wide], calls: sumOf.calls[at], bytes: sumOf.bytes[at] });
  all.sort(descending((link) => link.bytes || link.calls));
  const names = nodes.filter((name) => !on.ranges || all.some((link) => link.from === name || link.to === name)).slice(0, 4 * MOST_NODES);
  if (!all.length) return fill(body, nothing());
  const sizeOf = 560, middle = sizeOf / 2, radius = middle - 70;
  const place = new Map(names.map((name, at) => { const angle = (2 * Math.PI * at) / names.length - Math.PI / 2; return [name, [middle + radius * Math.cos(angle), middle + radius * Math.sin(angle)]]; }));
  const most = Math.max(...all.map((link) => link.bytes), 1);
  const drawn = all.filter((link) => place.has(link.from) && place.has(link.to) && link.from !== link.to).slice(0, MOST_LINES);
  const picture = svg("svg", { viewBox: `0 0 ${sizeOf} ${sizeOf}`, width: sizeOf, height: sizeOf, role: "img", "aria-label": `${several(names.length, areHosts ? "host" : "process", areHosts ? "hosts" : "processes")} and ${several(all.length, "link")}; the heaviest is from ${all[0].from} to ${all[0].to}` });
  for (const link of drawn.reverse()) {
    const [x1, y1] = place.get(link.from), [x2, y2] = place.get(link.to);
    const [cx, cy] = [(x1 + x2) / 2 + (y2 - y1) * 0.12 + (middle - (x1 + x2) / 2) * 0.3, (y1 + y2) / 2 - (x2 - x1) * 0.12 + (middle - (y1 + y2) / 2) * 0.3];
    const part = link.bytes / most;
    picture.append(svg("path", { d: `M${x1} ${y1}Q${cx} ${cy} ${x2} ${y2}`, fill: "none", stroke: "var(--moving)", "stroke-opacity": 0.25 + 0.7 * part, "stroke-width": 0.7 + 4 * Math.sqrt(part) }, tip(`${link.from} to ${link.to}: ${bytesText(Math.round(link.bytes))} in ${several(Math.round(link.calls), "message")}`)));
  }
  // Labels that have room: the circle takes 64.
  const step = Math.ceil(names.length / 64);
  for (const [name, [x, y]] of place) {
    const host = areHosts ? name : hostOf(Number(name));
    const right = x >= middle;
    picture.append(svg("circle", { cx: x, cy: y, r: 7, fill: hostColour(host), stroke: "var(--ink)" }, tip(areHosts ? name : `rank ${name} on ${host}`)),
      svg("text", { x: middle + (x - middle) * 1.06, y: middle + (y - middle) * 1.06 + 4, "text-anchor": Math.abs(x - middle) < 20 ? "middle" : right ? "start" : "end" }, names.indexOf(name) % step ? "" : cut(name, 12)));
  }
  fill(body, tools(sourcesOf().length > 1 ? picker("layer", "of ", sourcesOf(), sourcesOf()[0][0]) : null),
    el("figure", {}, picture, !areHosts && hosts.length > 1 ? legend(hosts.slice(0, 16).map((host) => [hostColour(host), host])) : null,
      all.length > drawn.length ? el("p", { class: "about" }, `Lines of the ${drawn.length} heaviest of ${several(all.length, "link")}.`) : null),
    folded("graph", "The links as a table", false, () => table("graph", "Messages by sender and receiver", [word("from", "from", (row) => row.from), word("to", "to", (row) => row.to), count("messages", "calls", (row) => Math.round(row.calls)), size("bytes", "bytes", (row) => Math.round(row.bytes))], all), all.length > 5000));
});
view("devices", (body) => {
  const { nodes } = data.devices;
  // An edge between two devices belongs to no rank alone.
  const isOff = (at) => nodes[at].kind === "process" && !on.rank(Number(nodes[at].label));
  const edges = data.devices.edges.filter(([from, to]) => !isOff(from) && !isOff(to));
  if (!edges.length) return fill(body, nothing());
  const isDevice = (at) => !["process", "host", "unknown", "other world"].includes(nodes[at].kind);
  const name = (at) => (isDevice(at) ? `${nodes[at].label} of ${nodes[at].host || "?"}` : nodes[at].kind === "process" ? `rank ${nodes[at].label}` : nodes[at].label);
  // Three columns: who sends, devices, who receives.
  const columns = [[], [], []];
  const placeIn = (column, at) => { if (!columns[column].includes(at)) columns[column].push(at); };
  for (const [from, to] of edges) { placeIn(isDevice(from) ? 1 : 0, from); placeIn(isDevice(to) ? 1 : 2, to); }
  const most = Math.max(...columns.map((column) => column.length));
  const height = Math.max(160, most * 26), width = 1000, xs = [200, 500, 800];
  const y = (column, at) => ((columns[column].indexOf(at) + 0.5) * height) / columns[column].length;
  const heaviest = Math.max(...edges.map((edge) => edge[4]), 1);
  const transports = [...new Set(edges.map((edge) => edge[2]))];
  const colour = (transport) => KINDS[transports.indexOf(transport) % KINDS.length];
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": `${several(columns[1].length, "device")} between ${several(columns[0].length, "sender")} and ${several(columns[2].length, "receiver")}` });
  for (const [from, to, transport, calls, bytes] of edges) {
    const a = isDevice(from) ? 1 : 0, b = isDevice(to) ? 1 : 2;
    const [x1, y1, x2, y2] = [xs[a], y(a, from), xs[b], y(b, to)];
    // Between devices: on the right downwards, on the left upwards, a loop to itself.
    const bend = y1 > y2 ? -110 : 110, loop = from === to ? 30 : 0;
    picture.append(svg("path", { d: a === b ? `M${x1} ${y1}C${x1 + bend} ${y1 - loop} ${x1 + bend} ${y2 + loop} ${x2} ${y2}` : `M${x1} ${y1}C${(x1 + x2) / 2} ${y1} ${(x1 + x2) / 2} ${y2} ${x2} ${y2}`, fill: "none", stroke: colour(transport), "stroke-opacity": 0.75, "stroke-width": 1 + 8 * Math.sqrt(bytes / heaviest) },
      tip(`${name(from)} to ${name(to)} over ${transport || "?"}: ${bytesText(bytes)} in ${countText(calls)}`)),
    svg("path", { d: "M-6 0l-9 -4v8z", fill: "var(--ink)", transform: `translate(${x2} ${y2}) rotate(${a === b ? (Math.atan2(-loop, -bend) * 180) / Math.PI : 0})` }));
  }
  columns.forEach((column, index) => column.forEach((at) => picture.append(svg("circle", { cx: xs[index], cy: y(index, at), r: 6, fill: hostColour(nodes[at].host), stroke: "var(--ink)" }),
    svg("text", { x: xs[index] + [-12, 0, 12][index], y: y(index, at) + (index === 1 ? -10 : 4), "text-anchor": ["end", "middle", "start"][index] }, tip(name(at)), cut(name(at), 28)))));
  const notes = [...(on.comm || on.op || on.bucket || on.phase || on.site ? ["Only the filter by ranks applies here."] : []), ...(on.ranges && nodes.some((node) => node.kind === "host") ? ["Hosts stand for all their ranks here."] : [])];
  fill(body, el("figure", {}, el("div", { class: "scroll" }, picture), legend(transports.map((transport) => [colour(transport), transport || "unknown transport"]))),
    notes.map((note) => el("p", { class: "about" }, note)),
    folded("devices", "The edges as a table", false, () => table("devices", "What went over each device", [word("from", "from", (edge) => name(edge[0])), word("to", "to", (edge) => name(edge[1])), word("transport", "transport", (edge) => edge[2]), count("operations", "calls", (edge) => edge[3]), size("bytes", "bytes", (edge) => edge[4])], edges)));
});
