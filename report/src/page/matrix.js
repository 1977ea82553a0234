// Row: who sent, column: who received. Sums of what is meant, between ranks, hosts, or memories of hosts and GPUs.
const matrixOf = (layer, ends, memories) => {
  const areMemories = ends === "device" && memories.length > 0, areHosts = ends === "host" && hosts.length > 0;
  const { list, of, dense } = areMemories ? memoryFlows() : pairsOf(layer), [quantity, beside] = option("measure", "bytes") === "calls" ? ["calls", "bytes"] : ["bytes", "calls"];
  const length = areMemories ? memories.length : areHosts ? hosts.length : ranks.rows, block = Math.max(1, Math.ceil(length / 1024)), side = Math.ceil(length / block);
  const end = (rank) => { const at = placeOf.get(rank); return at === undefined ? -1 : Math.floor((areHosts ? ranks.host[at] : at) / block); };
  const endsAt = (at) => (areMemories ? [memories.place(of.from_memory[at]), memories.place(of.to_memory[at])] : [end(of.src[at]), end(of.dst[at])]);
  const values = new Float64Array(side * side), other = new Float64Array(side * side), modelled = new Float64Array(side * side);
  let outside = 0, calls = 0, bytes = 0, known = 0;
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
  for (let at = 0; at < values.length; at++) if (values[at] > 0 || other[at] > 0) known += 1;
  const name = (at) => (areMemories ? memories[at].title : areHosts ? hosts[at] : block > 1 ? `ranks ${at * block}-${Math.min(length, (at + 1) * block) - 1}` : `rank ${ranks.rank[at]}`);
  const hostAt = (at) => (areMemories ? memories[at].host : areHosts ? hosts[at] : hosts[ranks.host[Math.min(ranks.rows - 1, at * block)]]);
  return { layer, areMemories, areHosts, areRanks: !areHosts && !areMemories, list, of, dense, quantity, beside, block, side, endsAt, values, other, modelled, outside, calls, bytes, known, name, hostAt, about: dense ? "about " : "" };
};
const matrixNotes = ({ layer, areMemories, areRanks, list, of, dense, outside }) => [
  (on.bucket || on.phase || on.site) && "Messages have no sizes, phases and call sites in a profile: these filters do not apply here.",
  layer !== "mpi" && (on.comm || on.op) && !data.flows.of_calls && "What layers moved between ranks is added up over communicators and operations here: only filters by ranks, hosts and routes apply.",
  ...(on.window ? ofWindow(areMemories ? "" : layer) : []),
  areMemories && "Memories of hosts and GPUs, as processes number GPUs: copies, and what NCCL moves between the GPUs of ranks.",
  (areMemories || layer.endsWith("~")) && list.some((at) => of.modelled?.[at]) && "Modelled (~): bytes that rings and trees over the ranks in order send, by formula.",
  ...(areMemories || layer !== "mpi" ? data.flows?.left ?? [] : []),
  areRanks && layer === "mpi" && on.route && "MPI's messages have no functions, transports and protocols: choose a layer.",
  dense && "Numbers of dense communicators are rounded here, and are over all of their operations; see “About this run”.",
  outside && `${several(outside, "row")} to or from processes of another world, or unknown ones, are in the sums but not in the picture.`].filter(Boolean).map((note) => el("p", { class: "about" }, note));
// What a cell consists of.
const cellTable = ({ list, of, dense, quantity, endsAt, name }, row, column) => {
  const parts = list.filter((at) => { const [from, to] = endsAt(at); return from === row && to === column; })
    .map((at) => ({ function: of.route ? data.layers.routes[of.route[at]].words[PLACES.function] : "", how: of.modelled?.[at] ? "modelled" : "", comm: of.comm ? titleOf(comms[of.comm[at]]) : "all", op: of.op ? ops[of.op[at]].name : "all", src: of.src[at], dst: of.dst[at], calls: of.calls[at], bytes: of.bytes[at] }))
    .sort((a, b) => b[quantity] - a[quantity]);
  return table("cell", `From ${name(row)} to ${name(column)}${dense ? ": the part that is exact" : ""}`, [word("communicator", "comm", (part) => part.comm), word("operation", "op", (part) => part.op), ...(of.route ? [word("function", "function", (part) => part.function), word("known", "how", (part) => part.how)] : []),
    count("from", "src", (part) => part.src), count("to", "dst", (part) => part.dst), count("messages", "calls", (part) => part.calls), size("bytes", "bytes", (part) => part.bytes)], parts, { most: 10 });
};
const matrixMap = (matrix, isLog) => {
  const { areMemories, areHosts, areRanks, quantity, beside, block, side, values, other, modelled, known, name, hostAt, about, dense } = matrix, kind = areMemories ? "memory" : areHosts ? "host" : "rank";
  const short = areRanks ? range(side).map((at) => String(ranks.rank[at * block])) : apart(range(side).map(name), 16), strip = hosts.length > 1 && areRanks ? (at) => hostColour(hostAt(at)) : null;
  const end = (at) => `${name(at)}${areRanks ? ` (${hostAt(at)})` : ""}`, besides = (value) => `, ${about}${textOf[beside](Math.round(value))}${beside === "calls" ? " messages" : ""}`;
  return heatMap({ name: "matrix", label: `${quantity === "calls" ? "Messages" : "Bytes"} from ${kind} (row) to ${kind} (column): ${several(known, "pair")}`, columns: side, rows: side, values, isLog, text: textOf[quantity], square: true, columnName: (at) => short[at], rowName: (at) => short[at], columnStrip: strip, rowStrip: strip,
    describe: (row, column, value) => { const at = row * side + column; return `${end(row)} to ${end(column)}: ${modelled[at] > 0 ? "~" : ""}${value > 0 ? `${about}${textOf[quantity](dense ? Math.round(value) : value)}` : "nothing"}${other[at] > 0 ? besides(other[at]) : ""}`; }, pin: (row, column) => cellTable(matrix, row, column) });
};
const matrixTable = ({ areMemories, areHosts, quantity, side, values, other, modelled, name, hostAt, about }) => {
  const pairs = [];
  for (let at = 0; at < values.length; at++) if (values[at] > 0 || other[at] > 0) pairs.push({ from: Math.floor(at / side), to: at % side, value: values[at], other: other[at] });
  return table("matrix", "Messages by sender and receiver", [word("from", "from", (pair) => name(pair.from)), word("to", "to", (pair) => name(pair.to)),
    ...(areHosts ? [] : [word("host of sender", "src_host", (pair) => hostAt(pair.from)), word("host of receiver", "dst_host", (pair) => hostAt(pair.to))]), ...(areMemories ? [word("known", "how", (pair) => (modelled[pair.from * side + pair.to] > 0 ? "~" : ""))] : []),
    count(`${about}messages`, "calls", (pair) => Math.round(quantity === "calls" ? pair.value : pair.other)), size(`${about}bytes`, "bytes", (pair) => Math.round(quantity === "bytes" ? pair.value : pair.other))], pairs.sort(descending((pair) => pair.value)), { most: 12 });
};
let matrixKept = "";
view("matrix", (body) => {
  // Drawn for these; what else changes does not change it.
  const asked = fragment({ ...wanted, class: undefined, view: undefined, phase: wanted.phase?.length ? ["x"] : [], bucket: wanted.bucket?.length ? ["x"] : [] }) + `${wanted.class ?? ""} ${roomOf(body)}`;
  if (asked === matrixKept && data.matrix?.dense) return;
  matrixKept = asked;
  const layer = option("layer", usualSource()) ?? "", memories = data.flows ? memoriesOf() : [];
  if (!layer && !memories.length) return fill(body, noMatrix());
  const usualEnds = !layer ? "device" : data.profile.detail === "node" ? "host" : "rank", matrix = matrixOf(layer, option("ends", usualEnds), memories);
  const { calls, bytes, known, dense, about } = matrix, usual = usualScale(matrix.values);
  const total = el("p", { class: "selected" }, "Shown: ", el("b", { "data-number": "matrix_calls", "data-value": dense ? null : calls }, `${about}${countText(calls)}`), calls === 1 ? " message with " : " messages with ",
    el("b", { "data-number": "matrix_bytes", "data-value": dense ? null : bytes }, `${about}${bytesText(bytes)}`), " between ", el("b", { "data-number": "matrix_pairs", "data-value": known }, several(known, "pair")), ".");
  fill(body, tools(sourcesOf().length > 1 && !matrix.areMemories ? picker("layer", "of ", sourcesOf(), usualSource()) : null, measurePicker(), scalePicker(usual), endsPicker(memories, usualEnds)),
    layer === "mpi" && matrix.areRanks && !on.window ? patternLines() : null, total, matrixNotes(matrix),
    known ? el("div", { class: "columns" }, matrixMap(matrix, option("scale", usual) === "log"), folded("matrix", "The pairs as a table", known <= 5000, () => matrixTable(matrix), known > 5000)) : nothing());
});
