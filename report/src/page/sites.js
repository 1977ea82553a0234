// Call sites as a flame graph: the outermost function at the top, the MPI call at the bottom, the width is MPI time.
view("sites", (body) => {
  const { spots, stacks, counts } = data.sites;
  const root = { name: "all", at: [], time_ns: 0, calls: 0, children: new Map() };
  const rows = new Map();
  for (let at = 0; at < counts.rows; at++) {
    const site = counts.site[at], comm = counts.comm[at], op = counts.op[at];
    if (!siteOn(site) || !commOn(comm) || !opOn(op) || (counts.rank[at] >= 0 && !on.rank(counts.rank[at]))) continue;
    const key = `${site} ${comm} ${op}`;
    if (!rows.has(key)) rows.set(key, { site, comm, op, calls: 0, bytes_sent: 0, bytes_recv: 0, time_ns: 0 });
    for (const measure of MEASURES) rows.get(key)[measure] += counts[measure][at];
    let node = root;
    root.time_ns += counts.time_ns[at];
    root.calls += counts.calls[at];
    const path = [...[...stacks[site]].reverse().map((spot) => spots[spot][1] ?? spots[spot][0]), ops[op].name];
    path.forEach((name, depth) => {
      if (!node.children.has(name)) node.children.set(name, { name, op: depth === path.length - 1 ? op : null, time_ns: 0, calls: 0, children: new Map() });
      node = node.children.get(name);
      node.time_ns += counts.time_ns[at];
      node.calls += counts.calls[at];
    });
  }
  const list = [...rows.values()].sort(descending((row) => row.time_ns));
  if (!list.length) return fill(body, nothing());
  const width = roomOf(body), height = 20, boxes = [];
  const lay = (node, x, depth, room) => {
    let left = x;
    for (const child of [...node.children.values()].sort(descending((one) => one.time_ns))) {
      const wide = root.time_ns > 0 ? (child.time_ns / root.time_ns) * room : 0;
      if (wide >= 0.5 && boxes.length < 3000) { boxes.push({ node: child, x: left, depth, wide }); lay(child, left, depth + 1, room); }
      left += wide;
    }
  };
  lay(root, 0, 0, width);
  const deepest = Math.max(0, ...boxes.map((box) => box.depth));
  const picture = svg("svg", { viewBox: `0 0 ${width} ${(deepest + 1) * height}`, width, role: "img", "aria-label": `Flame graph of ${timeText(root.time_ns)} of MPI time at ${several(new Set(list.map((row) => row.site)).size, "call site")}` });
  for (const { node, x, depth, wide } of boxes) {
    const isCall = node.op !== null;
    picture.append(svg("g", { class: "click", onclick: () => go(isCall ? { op: [ops[node.op].name] } : { site: [node.name] }) },
      svg("rect", { x, y: depth * height, width: wide, height: height - 1, fill: isCall ? opColour(node.op) : "var(--raised)", stroke: "var(--line)" }, tip(`${node.name}: ${timeText(node.time_ns)}, ${percentText(node.time_ns, root.time_ns)}, ${several(node.calls, "call")}`)),
      wide > 40 ? (() => { const text = svg("text", { x: x + 4, y: depth * height + 14 }, cut(node.name, Math.floor(wide / 7.2))); if (isCall) text.style.fill = inkOn(rgb(opColour(node.op))); return text; })() : null));
  }
  const spot = (row) => stacks[row.site].length ? spots[stacks[row.site][0]] : ["?", null];
  fill(body, figure("flame", "MPI time by function and operation; select one to see only it", el("div", { class: "scroll" }, picture), [word("function", "function", (box) => box.node.name), count("depth", "depth", (box) => box.depth), time("time", "time_s", (box) => box.node.time_ns), count("calls of ranks", "calls", (box) => box.node.calls)], boxes), !data.sites.ranks && on.ranked ? el("p", { class: "about" }, "Call sites are added up over the ranks: the filter by ranks does not apply here.") : null,
    table("sites", "MPI time by call site, over the ranks", [{ title: "line", name: "site", value: (row) => spot(row)[0], text: (row) => link(spot(row)[0], { site: [spot(row)[0]] }) }, word("function", "function", (row) => spot(row)[1] ?? ""), word("operation", "op", (row) => ops[row.op].name), word("communicator", "comm", (row) => comms[row.comm].name),
      time("time", "time_s", (row) => row.time_ns), count("calls of ranks", "calls", (row) => row.calls), size("sent", "bytes_sent", (row) => row.bytes_sent), size("received", "bytes_recv", (row) => row.bytes_recv),
      word("called from", "stack", (row) => stacks[row.site].slice(1).map((at) => spots[at][0]).join(" < "))], list, { most: 16 }));
});
