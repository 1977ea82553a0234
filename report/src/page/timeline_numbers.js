// Numbers of a part of the timeline: by operation and communicator, and by rank.
const partOf = (shown, [low, high]) => {
  const { calls } = data.timeline, { end_ns } = traced(), { wait_ns } = waitsTraced(), groups = new Map(), byRank = [];
  for (const lane of shown.lanes) {
    const own = { rank: lane.rank, thread: lane.thread, calls: 0, mpi_ns: 0, wait_ns: 0 };
    for (let place = firstAt(lane, shown.reach, low); place < lane.to; place++) {
      const at = shown.list[place], begin = calls.begin_ns[at];
      if (begin > high) break;
      if (end_ns[at] < low) continue;
      const key = calls.comm[at] * 65536 + calls.op[at];
      if (!groups.has(key)) groups.set(key, { comm: comms[calls.comm[at]], op: ops[calls.op[at]], calls: 0, bytes: 0, time_ns: 0, wait_ns: 0 });
      const group = groups.get(key), inside = Math.min(high, end_ns[at]) - Math.max(low, begin), waited = Math.max(0, Math.min(high, begin + wait_ns[at]) - Math.max(low, begin));
      group.time_ns += inside; group.wait_ns += waited;
      own.mpi_ns += inside; own.wait_ns += waited;
      if (begin >= low) { group.calls += 1; group.bytes += calls.bytes[at]; own.calls += 1; }
    }
    byRank.push(own);
  }
  return { groups: [...groups.values()].sort(descending((group) => group.time_ns)), byRank };
};
const partTables = (shown, span, name) => {
  const { groups, byRank } = partOf(shown, span), long = span[1] - span[0], where = `${name}, ${spanTold(span)}`;
  return [
    table("window", `By operation and communicator: ${where}; calls and bytes of calls that begin there`, [word("operation", "op", (group) => group.op.name), word("communicator", "comm", (group) => titleOf(group.comm)), count("calls", "calls", (group) => group.calls), time("time", "time_s", (group) => group.time_ns), time("waiting", "waiting_s", (group) => group.wait_ns), size("bytes", "bytes", (group) => group.bytes)], groups, { most: option("path") === "on" ? 20 : 8 }),
    table("shares", `By rank: ${where}`, [count("rank", "rank", (own) => own.rank), ...(byRank.some((own) => own.thread) ? [count("thread", "thread", (own) => own.thread)] : []), count("calls", "calls", (own) => own.calls), time("in MPI", "mpi_s", (own) => own.mpi_ns), time("waiting", "waiting_s", (own) => own.wait_ns),
      { title: "share of MPI", name: "share", value: (own) => own.mpi_ns / long, text: (own) => percentText(own.mpi_ns, long), number: true }], byRank, { most: 8 }),
  ];
};
const callColumns = () => {
  const { calls } = data.timeline, { wait_ns, by } = waitsTraced();
  return [count("rank", "rank", (at) => calls.rank[at]), ...(traced().lanes.some((lane) => lane.hasThreads) ? [count("thread", "thread", (at) => calls.thread[at])] : []), word("operation", "op", (at) => ops[calls.op[at]].name), word("communicator", "comm", (at) => comms[calls.comm[at]].name),
    time("begin", "begin_s", (at) => calls.begin_ns[at]), time("length", "length_s", (at) => calls.length_ns[at]), size("bytes", "bytes", (at) => calls.bytes[at]), time("waiting", "waiting_s", (at) => wait_ns[at]),
    { title: "for rank", name: "late_rank", value: (at) => (wait_ns[at] > 0 ? calls.rank[by[at]] : null), text: (at) => (wait_ns[at] > 0 ? String(calls.rank[by[at]]) : ""), number: true }];
};
const callsIn = ({ list }, [low, high]) => Array.from(list).filter((at) => data.timeline.calls.begin_ns[at] <= high && traced().end_ns[at] >= low);
// Calls that a text names: every word of it is part of the operation or of the communicator.
const finderOf = (text) => {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean), { calls } = data.timeline;
  if (!words.length) return null;
  const flags = (list, nameOf) => list.map((one) => { const name = nameOf(one).toLowerCase(); return words.map((item) => name.includes(item)); });
  const ofOps = flags(ops, (op) => op.name), ofComms = flags(comms, titleOf);
  return (at) => words.every((_, item) => ofOps[calls.op[at]][item] || ofComms[calls.comm[at]][item]);
};
const colourLegend = (colouring, shown) => {
  const { calls } = data.timeline;
  if (colouring === "state") return legend([["var(--none)", "work (gaps)"], ["var(--waiting)", "waiting"], ["var(--moving)", "in MPI, not waiting"], ["var(--perhaps)", "in MPI, waiting not known"]]);
  if (colouring === "op") return opLegend([...new Set(Array.from(shown.list, (at) => calls.op[at]))]);
  const named = new Map();
  for (const at of new Set(Array.from(shown.list, (call) => calls.comm[call]))) { const colour = commColour(at); named.set(colour, [...(named.get(colour) ?? []), titleOf(comms[at])]); }
  return legend([...named].sort(([a], [b]) => Number(a === REST) - Number(b === REST)).map(([colour, names]) => [colour, names.length > 4 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ")]));
};
