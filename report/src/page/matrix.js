// The patterns of communicators that are meant, as the terminal names them, of the whole run.
const MOST_PATTERNS = 4;
const patternGroups = () => {
  const groups = new Map();
  for (const { comm, pattern, bytes, unexpected, missing } of data.matrix?.patterns ?? []) {
    const { family, at } = comms[comm], key = family === undefined ? `c${at}` : `f${family} ${pattern}`;
    if (!groups.has(key)) groups.set(key, { title: family === undefined ? titleOf(comms[comm]) : families[family].title, first: comms[comm], comms: [], pattern, bytes: 0, unexpected: 0, missing: 0 });
    const group = groups.get(key);
    group.comms.push(comm);
    group.bytes += bytes;
    group.unexpected += unexpected;
    group.missing += missing;
  }
  return [...groups.values()].sort(descending(({ bytes }) => bytes));
};
const patternLines = () => {
  const groups = patternGroups(), known = groups.filter(({ comms: of }) => of.some(commOn)), all = sum(groups.map(({ bytes }) => bytes));
  const misfits = ({ unexpected, missing }) => `${unexpected ? `, ${several(unexpected, "unexpected pair")}` : ""}${missing ? `, ${several(missing, "missing pair")}` : ""}`;
  const line = (one) => el("p", { "data-pattern": one.pattern }, link(one.title, one.first.family === undefined ? { comm: [one.first.name] } : { family: [one.first.name] }), ": ", el("b", {}, one.pattern), `, ${percentText(one.bytes, all)} of the bytes${misfits(one)}`);
  return [...known.slice(0, MOST_PATTERNS).map(line), known.length > MOST_PATTERNS ? el("p", { class: "about" }, `${several(known.length - MOST_PATTERNS, "more pattern")}: through traffic --patterns.`) : null];
};
// Why there is no matrix.
const noMatrix = () => {
  const collectives = kinds.reduce((all, kind, at) => all + (ops[kind.op].class === "collective" ? sums.byKind.calls[at] : 0), 0);
  return el("p", { class: "empty" }, `No messages between ranks: the program has no point-to-point, neighborhood or one-sided communication that sends data${collectives ? `, and in its ${several(collectives, "call")} of collectives the MPI library decides who sends to whom` : ""}. `,
    "Record what goes between ranks below MPI: ", el("code", {}, "through run --hooks ucx -- …"), ".");
};
let matrixKept = "";
view("matrix", (body) => {
  // Drawn for these; what else changes does not change it.
  const asked = fragment({ ...wanted, class: undefined, view: undefined, phase: wanted.phase?.length ? ["x"] : [], bucket: wanted.bucket?.length ? ["x"] : [] }) + `${wanted.class ?? ""} ${roomOf(body)}`;
  if (asked === matrixKept && data.matrix?.dense) return;
  matrixKept = asked;
  const layer = option("layer", usualSource()) ?? "", measure = option("measure", "bytes");
  if (!sourcesOf().length && !data.flows?.memories.length) return fill(body, noMatrix());
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
  const usual = usualScale(values), isLog = option("scale", usual) === "log";
  const shortNames = areRanks ? range(side).map((at) => String(ranks.rank[at * block])) : apart(range(side).map(name), 16);
  const kind = areMemories ? "memory" : areHosts ? "host" : "rank";
  const label = `${measure === "calls" ? "Messages" : "Bytes"} from ${kind} (row) to ${kind} (column): ${several(known, "pair")}`;
  const total = el("p", { class: "selected" }, "Shown: ", el("b", { "data-number": "matrix_calls", "data-value": dense ? null : calls }, `${about}${countText(calls)}`), " messages with ",
    el("b", { "data-number": "matrix_bytes", "data-value": dense ? null : bytes }, `${about}${bytesText(bytes)}`), " between ", el("b", { "data-number": "matrix_pairs", "data-value": known }, several(known, "pair")), ".");
  fill(body, 
    tools(sourcesOf().length > 1 && !areMemories ? picker("layer", "of ", sourcesOf(), usualSource()) : null, measurePicker(),
      scalePicker(usual), endsPicker(memories, usualEnds)),
    layer === "mpi" && areRanks && !on.window ? patternLines() : null, total, ...notes.map((note) => el("p", { class: "about" }, note)),
    known ? el("div", { class: "columns" }, heatMap({ name: "matrix", label, columns: side, rows: side, values, isLog, text: textOf[quantity], square: true, columnName: (at) => shortNames[at], rowName: (at) => shortNames[at],
      columnStrip: hosts.length > 1 && areRanks ? (at) => hostColour(hostAt(at)) : null, rowStrip: hosts.length > 1 && areRanks ? (at) => hostColour(hostAt(at)) : null,
      describe: (row, column, value) => `${name(row)}${areRanks ? ` (${hostAt(row)})` : ""} to ${name(column)}${areRanks ? ` (${hostAt(column)})` : ""}: ${modelled[row * side + column] > 0 ? "~" : ""}${value > 0 ? `${about}${say(value)}` : "nothing"}${other[row * side + column] > 0 ? `, ${about}${textOf[beside](Math.round(other[row * side + column]))}${beside === "calls" ? " messages" : ""}` : ""}`, pin }),
    folded("matrix", "The pairs as a table", known <= 5000, () => table("matrix", "Messages by sender and receiver", [word("from", "from", (pair) => name(pair.from)), word("to", "to", (pair) => name(pair.to)),
      word("host of sender", "src_host", (pair) => hostAt(pair.from)), word("host of receiver", "dst_host", (pair) => hostAt(pair.to)), ...(areMemories ? [word("known", "how", (pair) => (modelled[pair.from * side + pair.to] > 0 ? "~" : ""))] : []),
      count(`${about}messages`, "calls", (pair) => Math.round(quantity === "calls" ? pair.value : pair.other)), size(`${about}bytes`, "bytes", (pair) => Math.round(quantity === "bytes" ? pair.value : pair.other))], pairs(), { most: 12 }), known > 5000)) : nothing());
});
