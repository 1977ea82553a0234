// What layers below MPI did, and where ranks stood that had not finished.
const bucketOf = (bytes) => buckets.findIndex(({ lo, hi }) => (bytes > lo || lo === 0) && (hi === null || bytes <= hi));
view("layers", (body) => {
  const { routes, sums: parts, ranks: areRanksTold } = data.layers;
  // An event does not tell which operations were complete later.
  const of = on.window ? timed().moved : parts, measures = on.window ? ["calls", "bytes"] : ["calls", "bytes", "later", "time_ns"];
  const rows = new Map();
  for (let at = 0; at < of.rows; at++) {
    if (!routeOn(of.route[at]) || !inWindow(of.begin_ns?.[at]) || ((on.window || areRanksTold) && !on.rank(of.rank[at])) || !commOn(of.comm[at]) || (on.op && !on.op[of.op[at]]) || (on.bucket && !on.bucket[of.bucket?.[at] ?? bucketOf(of.bytes[at])])) continue;
    const key = of.route[at];
    if (!rows.has(key)) rows.set(key, { words: routes[key].words, arrives: routes[key].arrives, calls: 0, bytes: 0, later: 0, time_ns: 0 });
    for (const measure of measures) rows.get(key)[measure] += of[measure][at];
  }
  const list = [...rows.values()].sort(descending((row) => row.bytes));
  const named = ["layer", "function", "protocol", "transport", "device", "kind"].map((name, at) => word(name, name, (row) => row.words[at]));
  const calls = (on.window ? [] : layerCalls()).sort(descending((row) => row.time_ns ?? 0));
  const onComms = calls.length ? table("layer-calls", "Calls on communicators of layers, over all ranks; a collective once for its communicator", [
    word("communicator", "communicator", (row) => titleOf(comms[row.comm])), word("function", "function", (row) => row.function), word("bytes", "bucket", (row) => buckets[row.bucket].name),
    word("algorithm", "protocol", (row) => row.protocol), count("calls", "calls", (row) => row.calls), time("time", "time_s", (row) => row.time_ns ?? 0),
    size("sent", "bytes_sent", (row) => row.sent), size("received", "bytes_recv", (row) => row.received),
    { title: "bus bandwidth", name: "busbw", value: (row) => row.bus, text: (row) => (row.bus === null ? "" : `${bytesText(row.bus)}/s`), number: true }], calls, { most: 24 }) : null;
  // Functions against transports, layer by layer, in percent of the layer's bytes and, in brackets, of its operations.
  const crossed = () => [...new Set(list.map((row) => row.words[0]))].map((layer) => {
    const own = list.filter((row) => row.words[0] === layer), totals = ["bytes", "calls"].map((key) => sum(own.map((row) => row[key])));
    const shareOf = (rows) => (rows.length ? ["bytes", "calls"].map((key, at) => percentText(sum(rows.map((row) => row[key])), totals[at])) : null);
    const named = (place) => [...new Set(own.map((row) => row.words[place]))];
    const column = (title, isMeant) => ({ title, name: title, value: (name) => sum(own.filter((row) => row.words[1] === name && isMeant(row)).map((row) => row.bytes)) / totals[0] || 0,
      text: (name) => { const share = shareOf(own.filter((row) => row.words[1] === name && isMeant(row))); return share ? `${share[0]} (${share[1]})` : ""; }, number: true });
    return table(`crossed-${layer}`, `${layer}: functions against transports, % of bytes (% of operations) of what the filters leave`, [word("function", "function", (name) => name), ...named(3).map((transport) => column(transport || "no transport", (row) => row.words[3] === transport)), column("all", () => true)], named(1));
  });
  fill(body, onComms, list.length ? table("layers", "Operations of layers below MPI, over all ranks", [...named, word("arrived", "arrives", (row) => (row.arrives ? "yes" : "")), count("operations", "calls", (row) => row.calls), size("bytes", "bytes", (row) => row.bytes), count("completed later", "later", (row) => row.later),
    { title: "mean time of these", name: "mean_s", value: (row) => (row.later ? row.time_ns / row.later / 1e9 : null), text: (row) => (row.later ? timeText(Math.round(row.time_ns / row.later)) : ""), number: true }], list, { most: 24 }) : nothing(),
    list.length ? folded("crossed", "Functions against transports", false, crossed) : null,
    on.window && data.layer_calls?.length ? el("p", { class: "about" }, "Calls on communicators of layers are counters, which have no times: they are left out.") : null,
    on.window && !timed().moved.rows ? el("p", { class: "about" }, "The timeline holds no operations of layers: only counters have them, which have no times.") : null,
    [on.ranked && !areRanksTold && !on.window && "Operations are added up over the ranks", on.ranked && calls.some((row) => !row.ranks) && "Calls on communicators of layers are over all ranks"].filter(Boolean).map((why) => el("p", { class: "about" }, `${why}: filters by ranks and hosts do not apply there.`)),
    on.phase ? el("p", { class: "about" }, "Layers know no phases: this filter does not apply here.") : null);
});
view("standing", (body) => {
  const list = data.standing.filter((row) => row.op === null || (commOn(row.comm) && (!on.op || on.op[row.op])));
  const since = (row) => (row.since_ns ? row.since_ns.map(timeText) : null);
  fill(body, table("standing", "In-flight calls: one line for the ranks in the same call on the same line of code", [word("where", "place", (row) => (row.op === null ? row.place : ops[row.op].name)), word("communicator", "comm", (row) => (row.comm === null ? "" : titleOf(comms[row.comm]))),
    word("line", "site", (row) => row.site ?? ""), count("number", "count", (row) => row.count), word("ranks", "ranks", (row) => row.ranks), word("not in it", "absent", (row) => row.absent),
    { title: "since", name: "since_s", value: (row) => (row.since_ns ? row.since_ns[0] / 1e9 : null), text: (row) => (since(row) ? [...new Set(since(row))].join(" to ") : ""), number: true }], list));
});
