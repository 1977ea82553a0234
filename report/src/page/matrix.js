// Who sent how much to whom. MPI's own messages are known by communicator and operation, those of layers by layer.
const sourcesOf = once(() => {
  const of = data.flows?.pairs, found = new Map();
  for (let at = 0; at < (of?.rows ?? 0); at++) {
    const { words, ends } = data.layers.routes[of.route[at]], layer = words[PLACES.layer];
    if (!ends) found.set(of.modelled[at] ? `${layer}~` : layer, `layer ${layer}${of.modelled[at] ? ", modelled" : ""}`);
  }
  return [...(data.matrix ? [["mpi", "MPI messages"]] : []), ...[...found].sort(([a], [b]) => (a < b ? -1 : 1))];
});
// Of filters by routes MPI's messages know nothing.
const usualSource = () => (sourcesOf().find(([layer]) => !on.route || data.layers.routes.some((route, at) => on.route[at] && route.words[PLACES.layer] === layer)) ?? sourcesOf()[0])?.[0];
// Of the whole run, or what began in the window.
const movedPairs = () => (on.window ? { pairs: timed().moved, isTold: true } : { pairs: data.flows?.pairs, isTold: data.flows?.of_calls });
const timed = once(() => {
  const { moved, sent } = data.timeline, ones = (part) => new Float64Array(part.rows).fill(1);
  return { moved: { ...moved, src: moved.rank, dst: moved.peer, calls: ones(moved) }, sent: { ...sent, calls: ones(sent) } };
});
// What layers moved between ranks, as far as the filters leave it.
const flowsOf = (isMeant, isHow = (isModelled) => !isModelled) => {
  const { pairs: of, isTold } = movedPairs(), list = [];
  const ofRoutes = (data.layers?.routes ?? []).map((route, at) => routeOn(at) && isMeant(route));
  for (let at = 0; at < (of?.rows ?? 0); at++) if (ofRoutes[of.route[at]] && isHow(of.modelled?.[at]) && (!on.window || (of.paired[at] && inWindow(of.begin_ns[at]))) && on.rank(of.src[at]) && (!isTold || (commOn(of.comm[at]) && (!on.op || opOn(of.op[at]))))) list.push(at);
  return { list, of };
};
// Pairs that the filters leave: from, to, calls, bytes, and of which communicator and operation.
const pairsOf = (layer) => {
  const isModelled = layer.endsWith("~"), own = layer.replace(/~$/, "");
  if (layer !== "mpi" || !data.matrix) return flowsOf((route) => route.words[PLACES.layer] === own && !route.ends, (how) => Boolean(how) === isModelled);
  const list = [], of = on.window ? timed().sent : data.matrix.edges, dense = on.window ? null : data.matrix.dense;
  for (let at = 0; at < of.rows; at++) if (inWindow(of.begin_ns?.[at]) && commOn(of.comm[at]) && opOn(of.op[at]) && on.rank(of.src[at])) list.push(at);
  return { list, of, dense: dense?.comms.some(commOn) ? dense : null };
};
const level = ({ least, most, levels }, code) => (code === 0 ? 0 : least * (most / least) ** ((code - 1) / (levels - 1)));
// A rounded matrix added up over the ends that it is looked at by: kept while these stay, for it has a million cells.
let planeKept = { key: null };
const planeOf = (dense, key, side, end) => {
  if (planeKept.key === key) return planeKept;
  const ends = Int32Array.from(range(dense.side), (at) => end(dense.block === 1 ? ranks.rank[at] ?? -1 : at * dense.block));
  const isOn = range(dense.side).map((from) => !on.ranked || range(dense.block).some((at) => on.rank(from * dense.block + at)));
  planeKept = { key };
  for (const name of ["calls", "bytes"]) {
    const steps = Float64Array.from(range(256), (code) => level(dense[name], code)), codes = dense[name].cells, sums = new Float64Array(side * side);
    for (let from = 0; from < dense.side; from++) {
      const row = ends[from];
      if (row < 0 || !isOn[from]) continue;
      for (let to = 0, at = from * dense.side; to < dense.side; to++, at++) if (codes[at] > 0 && ends[to] >= 0) sums[row * side + ends[to]] += steps[codes[at]];
    }
    planeKept[name] = sums;
    let all = 0;
    for (let at = 0; at < sums.length; at++) all += sums[at];
    planeKept[`all_${name}`] = all;
  }
  return planeKept;
};
// Memories of hosts and GPUs: of each host its own first; and where the numbers of pairs are among them.
const memoriesOf = () => {
  const known = (on.window ? data.timeline : data.flows).memories, several = new Set(known.map(([host]) => host)).size > 1;
  const all = [...known, ...known.map(([host]) => [host, null])].map(([host, gpu]) => ({ host, gpu, title: several ? `${host} ${gpu ?? "host"}` : gpu ?? "host" }));
  const list = all.filter(({ host, gpu }, at) => all.findIndex((other) => other.host === host && other.gpu === gpu) === at)
    .sort((a, b) => a.host.localeCompare(b.host) || Number(a.gpu !== null) - Number(b.gpu !== null) || (a.gpu ?? "").localeCompare(b.gpu ?? "", "en", { numeric: true }));
  const places = known.map(([host, gpu]) => list.findIndex((memory) => memory.host === host && memory.gpu === gpu));
  return Object.assign(list, { place: (at) => (at < 0 ? -1 : places[at]) });
};
// What formulas say of collectives is no less wanted here: it is marked.
const memoryFlows = () => { const { list, of } = flowsOf(() => true, () => true); return { list: list.filter((at) => of.from_memory[at] >= 0), of }; };
const endsPicker = (memories, usual) => {
  const kinds = [...(sourcesOf().length ? [["rank", "ranks"]] : []), ...(sourcesOf().length && hosts.length > 1 && data.profile.detail === "rank" ? [["host", "hosts"]] : []), ...(memories.length ? [["device", "hosts and GPUs"]] : [])];
  return kinds.length > 1 ? picker("ends", "between ", kinds, usual) : null;
};
// What a picture of a window lacks.
const ofWindow = (layer) => {
  const { moved, sent, until_ns: until } = data.timeline, notes = [];
  if (layer === "mpi" && !sent.rows) notes.push("The timeline holds no messages: only counters have them, which have no times.");
  if (layer.endsWith("~")) notes.push("What formulas say of collectives has no times.");
  else if (layer !== "mpi" && !Array.from(moved.route).some((at) => data.layers.routes[at].words[PLACES.layer] === layer)) notes.push("The timeline holds no operations of this layer: only counters have them, which have no times.");
  if (layer === "mpi" && sent.rows) notes.push("One-sided and partitioned messages and those of neighborhood collectives are not on the timeline.");
  if (until !== null && on.window[1] > until) notes.push(`The page has the timeline until ${timeText(until)} only: report --window puts another part into it.`);
  return notes;
};
let matrixKept = "";
view("matrix", (body) => {
  // Drawn for these; what else changes does not change it.
  const asked = fragment({ ...wanted, class: undefined, view: undefined, phase: wanted.phase?.length ? ["x"] : [], bucket: wanted.bucket?.length ? ["x"] : [] }) + `${wanted.class ?? ""} ${roomOf(body)}`;
  if (asked === matrixKept && data.matrix?.dense) return;
  matrixKept = asked;
  const layer = option("layer", usualSource()) ?? "", measure = option("measure", "bytes"), isLog = option("scale", "log") === "log";
  const usualEnds = !layer ? "device" : data.profile.detail === "node" ? "host" : "rank";
  const memories = data.flows ? memoriesOf() : [], areMemories = option("ends", usualEnds) === "device" && memories.length > 0;
  const areHosts = option("ends", usualEnds) === "host" && hosts.length > 0, areRanks = !areHosts && !areMemories;
  const { list, of, dense } = areMemories ? memoryFlows() : pairsOf(layer);
  const count0 = areMemories ? memories.length : areHosts ? hosts.length : ranks.rows;
  const block = Math.max(1, Math.ceil(count0 / 1024));
  const side = Math.ceil(count0 / block);
  const end = (rank) => { const at = placeOf.get(rank); return at === undefined ? -1 : Math.floor((areHosts ? ranks.host[at] : at) / block); };
  const endsAt = (at) => (areMemories ? [memories.place(of.from_memory[at]), memories.place(of.to_memory[at])] : [end(of.src[at]), end(of.dst[at])]);
  const values = new Float64Array(side * side), other = new Float64Array(side * side), modelled = new Float64Array(side * side);
  const quantity = measure === "calls" ? "calls" : "bytes", beside = measure === "calls" ? "bytes" : "calls";
  let outside = 0, calls = 0, bytes = 0;
  for (const at of list) {
    calls += of.calls[at];
    bytes += of.bytes[at];
    const [from, to] = endsAt(at);
    if (from < 0 || to < 0) { outside += 1; continue; }
    values[from * side + to] += of[quantity][at];
    other[from * side + to] += of[beside][at];
    if (of.modelled?.[at]) modelled[from * side + to] += of[quantity][at];
  }
  if (dense) {
    const plane = planeOf(dense, `${areHosts} ${on.ranked}`, side, end);
    for (let at = 0; at < values.length; at++) { values[at] += plane[quantity][at]; other[at] += plane[beside][at]; }
    calls += plane.all_calls;
    bytes += plane.all_bytes;
  }
  const name = (at) => (areMemories ? memories[at].title : areHosts ? hosts[at] : block > 1 ? `ranks ${at * block}-${Math.min(count0, (at + 1) * block) - 1}` : `rank ${ranks.rank[at]}`);
  const hostAt = (at) => (areMemories ? memories[at].host : areHosts ? hosts[at] : hosts[ranks.host[Math.min(ranks.rows - 1, at * block)]]);
  const about = dense ? "about " : "";
  const say = (value) => textOf[quantity](dense ? Math.round(value) : value);
  let known = 0;
  for (let at = 0; at < values.length; at++) if (values[at] > 0 || other[at] > 0) known += 1;
  const pairs = () => {
    const all = [];
    for (let at = 0; at < values.length; at++) if (values[at] > 0 || other[at] > 0) all.push({ from: Math.floor(at / side), to: at % side, value: values[at], other: other[at] });
    return all.sort(descending((pair) => pair.value));
  };
  const notes = [];
  if (on.bucket || on.phase || on.site) notes.push("Messages have no sizes, phases and call sites in a profile: these filters do not apply here.");
  if (layer !== "mpi" && (on.comm || on.op) && !data.flows.of_calls) notes.push("What layers moved between ranks is added up over communicators and operations here: only filters by ranks, hosts and routes apply.");
  if (on.window) notes.push(...ofWindow(areMemories ? "" : layer));
  if (areMemories) notes.push("Memories of hosts and GPUs, as processes number GPUs: copies, and what NCCL moves between the GPUs of ranks.");
  if ((areMemories || layer.endsWith("~")) && list.some((at) => of.modelled?.[at])) notes.push("Modelled (~): bytes that rings and trees over the ranks in order send, by formula.");
  if (areMemories || layer !== "mpi") notes.push(...(data.flows?.left ?? []));
  if (areRanks && layer === "mpi" && on.route) notes.push("MPI's messages have no functions, transports and protocols: choose a layer.");
  if (dense) notes.push("Numbers of dense communicators are rounded here, and are over all of their operations; see “About this run”.");
  if (outside) notes.push(`${several(outside, "row")} to or from processes of another world, or unknown ones, are in the sums but not in the picture.`);
  const pin = (row, column) => {
    const parts = list.filter((at) => { const [from, to] = endsAt(at); return from === row && to === column; })
      .map((at) => ({ function: of.route ? data.layers.routes[of.route[at]].words[PLACES.function] : "", how: of.modelled?.[at] ? "modelled" : "", comm: of.comm ? titleOf(comms[of.comm[at]]) : "all", op: of.op ? ops[of.op[at]].name : "all", src: of.src[at], dst: of.dst[at], calls: of.calls[at], bytes: of.bytes[at] }))
      .sort((a, b) => b[quantity] - a[quantity]);
    return table("cell", `From ${name(row)} to ${name(column)}${dense ? ": the part that is exact" : ""}`, [word("communicator", "comm", (part) => part.comm), word("operation", "op", (part) => part.op), ...(of.route ? [word("function", "function", (part) => part.function), word("known", "how", (part) => part.how)] : []),
      count("from", "src", (part) => part.src), count("to", "dst", (part) => part.dst), count("messages", "calls", (part) => part.calls), size("bytes", "bytes", (part) => part.bytes)], parts, { most: 10 });
  };
  const kind = areMemories ? "memory" : areHosts ? "host" : "rank";
  const label = `${measure === "calls" ? "Messages" : "Bytes"} from ${kind} (row) to ${kind} (column): ${several(known, "pair")}`;
  const total = el("p", { class: "selected" }, "Shown: ", el("b", { "data-number": "matrix_calls", "data-value": dense ? null : calls }, `${about}${countText(calls)}`), " messages with ",
    el("b", { "data-number": "matrix_bytes", "data-value": dense ? null : bytes }, `${about}${bytesText(bytes)}`), " between ", el("b", { "data-number": "matrix_pairs", "data-value": known }, several(known, "pair")), ".");
  fill(body, 
    tools(sourcesOf().length > 1 && !areMemories ? picker("layer", "of ", sourcesOf(), usualSource()) : null, measurePicker(),
      picker("scale", "colours ", [["log", "logarithmic"], ["linear", "linear"]], "log"), endsPicker(memories, usualEnds)),
    total, ...notes.map((note) => el("p", { class: "about" }, note)),
    known ? el("div", { class: "columns" }, heatMap({ name: "matrix", label, columns: side, rows: side, values, isLog, text: textOf[quantity], square: true, columnName: (at) => (areRanks ? String(ranks.rank[at * block]) : cut(name(at), 12)), rowName: (at) => (areRanks ? String(ranks.rank[at * block]) : cut(name(at), 12)),
      columnStrip: hosts.length > 1 && areRanks ? (at) => hostColour(hostAt(at)) : null, rowStrip: hosts.length > 1 && areRanks ? (at) => hostColour(hostAt(at)) : null,
      describe: (row, column, value) => `${name(row)}${areRanks ? ` (${hostAt(row)})` : ""} to ${name(column)}${areRanks ? ` (${hostAt(column)})` : ""}: ${modelled[row * side + column] > 0 ? "~" : ""}${value > 0 ? `${about}${say(value)}` : "nothing"}${other[row * side + column] > 0 ? `, ${about}${textOf[beside](Math.round(other[row * side + column]))}${beside === "calls" ? " messages" : ""}` : ""}`, pin }),
    folded("matrix", "The pairs as a table", known <= 5000, () => table("matrix", "Messages by sender and receiver", [word("from", "from", (pair) => name(pair.from)), word("to", "to", (pair) => name(pair.to)),
      word("host of sender", "src_host", (pair) => hostAt(pair.from)), word("host of receiver", "dst_host", (pair) => hostAt(pair.to)), ...(areMemories ? [word("known", "how", (pair) => (modelled[pair.from * side + pair.to] > 0 ? "~" : ""))] : []),
      count(`${about}messages`, "calls", (pair) => Math.round(quantity === "calls" ? pair.value : pair.other)), size(`${about}bytes`, "bytes", (pair) => Math.round(quantity === "bytes" ? pair.value : pair.other))], pairs(), { most: 12 }), known > 5000)) : nothing());
});
