// What layers below MPI did, and where ranks stood that had not finished.
view("layers", (body) => {
  const { routes, sums: parts } = data.layers;
  const rows = new Map();
  for (let at = 0; at < parts.rows; at++) {
    if (!commOn(parts.comm[at]) || (on.op && !on.op[parts.op[at]]) || (on.bucket && !on.bucket[parts.bucket[at]])) continue;
    const key = parts.route[at];
    if (!rows.has(key)) rows.set(key, { words: routes[key].words, arrives: routes[key].arrives, calls: 0, bytes: 0, later: 0, time_ns: 0 });
    for (const measure of ["calls", "bytes", "later", "time_ns"]) rows.get(key)[measure] += parts[measure][at];
  }
  const list = [...rows.values()].sort(descending((row) => row.bytes));
  const named = ["layer", "function", "protocol", "transport", "device", "kind"].map((name, at) => word(name, name, (row) => row.words[at]));
  const calls = layerCalls().sort(descending((row) => row.time_ns ?? 0));
  const onComms = calls.length ? table("layer-calls", "Calls on communicators of layers, over all ranks; a collective once for its communicator", [
    word("communicator", "communicator", (row) => titleOf(comms[row.comm])), word("function", "function", (row) => row.function), word("bytes", "bucket", (row) => buckets[row.bucket].name),
    word("algorithm", "protocol", (row) => row.protocol), count("calls", "calls", (row) => row.calls), time("time", "time_s", (row) => row.time_ns ?? 0),
    size("sent", "bytes_sent", (row) => row.sent), size("received", "bytes_recv", (row) => row.received),
    { title: "bus bandwidth", name: "busbw", value: (row) => row.bus, text: (row) => (row.bus === null ? "" : `${bytesText(row.bus)}/s`), number: true }], calls, { most: 24 }) : null;
  fill(body, onComms, list.length ? table("layers", "Operations of layers below MPI, over all ranks", [...named, word("arrived", "arrives", (row) => (row.arrives ? "yes" : "")), count("operations", "calls", (row) => row.calls), size("bytes", "bytes", (row) => row.bytes), count("completed later", "later", (row) => row.later),
    { title: "mean time of these", name: "mean_s", value: (row) => (row.later ? row.time_ns / row.later / 1e9 : null), text: (row) => (row.later ? timeText(Math.round(row.time_ns / row.later)) : ""), number: true }], list, { most: 24 }) : nothing(),
    on.ranges || on.phase ? el("p", { class: "about" }, "These are sums over all ranks and phases: filters by ranks and phases do not apply here.") : null);
});
view("standing", (body) => {
  const list = data.standing.filter((row) => row.op === null || (commOn(row.comm) && (!on.op || on.op[row.op])));
  const since = (row) => (row.since_ns ? row.since_ns.map(timeText) : null);
  fill(body, table("standing", "In-flight calls: one line for the ranks in the same call on the same line of code", [word("where", "place", (row) => (row.op === null ? row.place : ops[row.op].name)), word("communicator", "comm", (row) => (row.comm === null ? "" : titleOf(comms[row.comm]))),
    word("line", "site", (row) => row.site ?? ""), count("number", "count", (row) => row.count), word("ranks", "ranks", (row) => row.ranks), word("not in it", "absent", (row) => row.absent),
    { title: "since", name: "since_s", value: (row) => (row.since_ns ? row.since_ns[0] / 1e9 : null), text: (row) => (since(row) ? [...new Set(since(row))].join(" to ") : ""), number: true }], list));
});
