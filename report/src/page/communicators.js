// Communicators of layers below MPI, such as NCCL's, with what was called on them.
// What the ranks that are meant did of a row.
const ofRanks = (row) => {
  if (!on.ranked || !row.ranks) return row;
  const list = row.ranks.filter(([rank]) => on.rank(rank)), most = (all) => Math.max(0, ...all.map(([, calls]) => calls)), all = sum(row.ranks.map(([, calls]) => calls));
  // A collective counts once for its communicator, however many ranks a process has.
  const calls = row.calls === all ? sum(list.map(([, calls]) => calls)) : Math.round((most(list) * row.calls) / Math.max(1, most(row.ranks)));
  const bytes = sum(list.map(([, , bytes]) => bytes));
  return { ...row, calls, sent: row.received > 0 ? 0 : bytes, received: row.received > 0 ? bytes : 0, time_ns: row.time_ns === null ? null : sum(list.map(([, , , ns]) => ns)) };
};
// MPI's operations are none of theirs.
const layerCalls = () => (data.layer_calls ?? []).map(ofRanks).filter((row) => row.calls > 0).filter((row) => !on.op && !wanted.transport?.length && ["function", "protocol"].every((key) => !wanted[key]?.length || wanted[key].some((item) => item.toLowerCase() === (row[key] || "(none)").toLowerCase())) && commOn(row.comm) && (!on.bucket || on.bucket[row.bucket]));
const onLayers = () => {
  const groups = new Map();
  for (const row of layerCalls()) {
    if (!groups.has(row.comm)) groups.set(row.comm, { comm: comms[row.comm], same: row.same, calls: 0, sent: 0, received: 0, time_ns: 0 });
    for (const key of ["calls", "sent", "received", "time_ns"]) groups.get(row.comm)[key] += row[key] ?? 0;
  }
  const list = [...groups.values()].sort(descending((group) => group.time_ns));
  return list.length ? table("layer-communicators", "Communicators of layers below MPI: calls, bytes and time in calls of the layer, over all ranks", [
    { title: "communicator", name: "communicator", value: (group) => titleOf(group.comm), text: (group) => link(titleOf(group.comm), { comm: [group.comm.name], family: [] }) },
    count("size", "size", (group) => group.comm.size ?? null), word("made by", "creator", (group) => group.comm.creator ?? ""), word("same ranks as", "same_ranks", (group) => group.same ?? ""),
    time("time", "time_s", (group) => group.time_ns), count("calls", "calls", (group) => group.calls),
    size("sent", "bytes_sent", (group) => group.sent), size("received", "bytes_recv", (group) => group.received)], list, { most: 12 }) : null;
};
// The parts of a bar, for its data.
const partsOf = ({ title, size, ops: times }) => [...times].map(([op, ns]) => ({ title, size, op, ns }));
// Time by communicator, stacked by operation, and by the size of communicators.
view("communicators", (body) => {
  const areFamilies = option("by", "families") === "families";
  const groups = commGroups(areFamilies);
  const all = sum(groups.map((group) => group.time_ns));
  if (!groups.length) return fill(body, onLayers() ?? nothing());
  const longest = ofLongest(groups), isLongest = longest !== null && option("of", "all") === "longest";
  const shown = (isLongest ? [...longest].sort(descending((group) => group.time_ns)) : groups).filter((group) => group.time_ns > 0).slice(0, 20);
  const used = [...new Set(shown.flatMap((group) => [...group.ops.keys()]))];
  const rows = shown.map((group) => ({ label: group.title, text: `${timeText(group.time_ns)}, ${isLongest ? `rank ${group.rank}` : percentText(group.time_ns, all)}`, go: () => go(group.filter),
    parts: [...group.ops].sort((a, b) => ops[a[0]].name.localeCompare(ops[b[0]].name)).map(([op, ns]) => [opColour(op), ns, `${group.title}, ${ops[op].name}: ${timeText(ns)}, ${percentText(ns, group.time_ns)}`]) }));
  const sizes = new Map();
  kinds.forEach((kind, at) => {
    const comm = comms[kind.comm];
    const size = comm.size ?? 0;
    if (!sizes.has(size)) sizes.set(size, { size, comms: new Set(), time_ns: 0, ops: new Map() });
    const group = sizes.get(size);
    if (!sums.byKind.calls[at]) return;
    group.comms.add(kind.comm);
    group.time_ns += sums.byKind.time_ns[at];
    group.ops.set(kind.op, (group.ops.get(kind.op) ?? 0) + sums.byKind.time_ns[at]);
  });
  const bySize = [...sizes.values()].filter((group) => group.time_ns > 0).sort((a, b) => a.size - b.size);
  fill(body, 
    tools(picker("by", "communicators: ", [["families", "those made alike as one"], ["comm", "each communicator"]], "families"), longest ? picker("of", "time of ", [["all", "all ranks"], ["longest", "the rank with the most"]], "all") : null),
    figure("commtimes", shown.length < groups.length ? `The ${shown.length} heaviest of ${groups.length} lines; select one to see only it` : "Select a line to see only it",
      bars(rows, { width: roomOf(body), label: `MPI time by communicator and operation; the heaviest is ${shown[0]?.title ?? "none"}` }),
      [word("communicator", "communicator", (part) => part.title), word("operation", "op", (part) => ops[part.op].name), time("time", "time_s", (part) => part.ns)], shown.flatMap(partsOf), opLegend(used)),
    table("communicators", "Calls, bytes and MPI time by communicator, over all ranks", [
      { title: "communicator", name: "communicator", value: (group) => group.title, text: (group) => link(group.title, group.filter) },
      count("of these", "communicators", (group) => group.comms), count("size", "size", (group) => group.first.size ?? null),
      word("made by", "creator", (group) => group.first.creator ?? ""), word("made at", "made_at", (group) => group.first.site ?? ""),
      time("time", "time_s", (group) => group.time_ns),
      ...(longest ? [time("rank with the most", "rank_max_s", (group) => longest[groups.indexOf(group)].time_ns)] : []),
      { title: "share", name: "share", value: (group) => (all > 0 ? group.time_ns / all : 0), text: (group) => percentText(group.time_ns, all), number: true },
      count("calls of ranks", "calls", (group) => group.calls), size("sent", "bytes_sent", (group) => group.bytes_sent), size("received", "bytes_recv", (group) => group.bytes_recv)],
    groups, { most: 12 }),
    onLayers(),
    bySize.length > 1 ? figure("commsizes", "MPI time by the size of the communicator",
      bars(bySize.slice(0, 30).map((group) => ({ label: group.size ? several(group.size, "rank") : "unknown size", text: `${timeText(group.time_ns)} on ${several(group.comms.size, "communicator")}`,
        parts: [...group.ops].sort((a, b) => ops[a[0]].name.localeCompare(ops[b[0]].name)).map(([op, ns]) => [opColour(op), ns, `${ops[op].name}: ${timeText(ns)}`]) })), { width: roomOf(body), label: "MPI time by the size of the communicator" }),
      [count("size", "size", (part) => part.size), word("operation", "op", (part) => ops[part.op].name), time("time", "time_s", (part) => part.ns)], bySize.flatMap(partsOf)) : null,
    folded("operations", "Operations", false, () => table("operations", "Calls, bytes and MPI time by operation, over all ranks", [
      { title: "operation", name: "op", value: (op) => ops[op].name, text: (op) => link(ops[op].name, { op: [ops[op].name] }) }, word("class", "class", (op) => ops[op].class),
      time("time", "time_s", (op) => sums.byOp.time_ns[op]), count("calls of ranks", "calls", (op) => sums.byOp.calls[op]),
      size("sent", "bytes_sent", (op) => sums.byOp.bytes_sent[op]), size("received", "bytes_recv", (op) => sums.byOp.bytes_recv[op])],
    range(ops.length).filter((op) => sums.byOp.calls[op] > 0).sort(descending((op) => sums.byOp.time_ns[op])))));
});
