// What was done with each file.
view("files", (body) => {
  const { names, calls, ranks: areRanksTold } = data.files;
  const rows = new Map();
  for (let at = 0; at < calls.rows; at++) {
    const op = calls.op[at];
    if (!commOn(calls.comm[at]) || (on.op && !on.op[op]) || (on.bucket && !on.bucket[calls.bucket[at]]) || (on.phase && !on.phase[calls.phase[at]]) || (areRanksTold && !on.rank(calls.rank[at]))) continue;
    const key = `${calls.file[at]} ${calls.comm[at]}`;
    if (!rows.has(key)) rows.set(key, { name: names[calls.file[at]] ?? "(names not kept)", comm: calls.comm[at], ranks: new Set(), calls: 0, bytes_read: 0, bytes_written: 0, time_ns: 0, ops: new Map() });
    const row = rows.get(key);
    row.ranks.add(calls.rank[at]);
    for (const measure of ["calls", "bytes_read", "bytes_written", "time_ns"]) row[measure] += calls[measure][at];
    row.ops.set(op, (row.ops.get(op) ?? 0) + calls.time_ns[at]);
  }
  const list = [...rows.values()].sort(descending((row) => row.time_ns));
  if (!list.length) return fill(body, nothing());
  const shown = list.slice(0, 16);
  fill(body, figure("filetimes", shown.length < list.length ? `Time in calls on files: the ${shown.length} heaviest of ${countText(list.length)}` : "Time in calls on files",
    bars(shown.map((row) => ({ label: row.name, text: `${timeText(row.time_ns)}, ${bytesText(row.bytes_read + row.bytes_written)}`, parts: [...row.ops].sort(descending(([, ns]) => ns)).map(([op, ns]) => [opColour(op), ns, `${row.name}, ${ops[op].name}: ${timeText(ns)}`]) })),
      { width: roomOf(body), label: `Time in calls on files: ${shown.slice(0, 8).map((row) => `${row.name} ${timeText(row.time_ns)}`).join(", ")}` }),
      [word("file", "file", (part) => part.title), word("operation", "op", (part) => ops[part.op].name), time("time", "time_s", (part) => part.ns)], shown.flatMap((row) => partsOf({ title: row.name, ops: row.ops }))),
    opLegend(new Set(shown.flatMap((row) => [...row.ops.keys()]))),
    table("files", "Calls on files, over the ranks", [word("file", "file", (row) => row.name), word("communicator", "comm", (row) => comms[row.comm].name),
      ...(areRanksTold ? [count("ranks", "ranks", (row) => row.ranks.size)] : []), count("calls of ranks", "calls", (row) => row.calls), size("read", "bytes_read", (row) => row.bytes_read), size("written", "bytes_written", (row) => row.bytes_written), time("time", "time_s", (row) => row.time_ns)], list, { most: 16 }),
    on.ranked && !areRanksTold ? el("p", { class: "about" }, "These are sums over the ranks: the filter by ranks does not apply here.") : null,
    on.site ? el("p", { class: "about" }, "Files have no call sites in a profile: that filter does not apply here.") : null);
});
