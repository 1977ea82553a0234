// Where the run time of the ranks that are meant went: work, waiting, moving data, and ranks that ended early.
view("overview", (body) => {
  const list = range(ranks.rows).filter((at) => on.rank(ranks.rank[at]));
  const room = roomOf(body);
  const half = room >= 1000 ? Math.floor((room - 48) / 2) : room, size = { width: half, noteWidth: 60, labelWidth: Math.round(Math.min(420, 0.42 * half)) };
  const runTime = Math.max(0, ...list.map((at) => ranks.wall_ns[at]));
  const whole = runTime * list.length;
  const wall = sum(list.map((at) => ranks.wall_ns[at])), mpi = sum(list.map((at) => ranks.mpi_ns[at]));
  const working = list.map((at) => ranks.wall_ns[at] - ranks.mpi_ns[at]);
  const mostWorking = Math.max(0, ...working);
  const waits = [...waiting().values()];
  const least = sum(waits.map(([low]) => low)), more = sum(waits.map(([, high]) => high)) - least;
  const ended = whole - wall, worked = wall - mpi;
  const selected = totals().time_ns;
  const of = (part, all) => (all > 0 ? (part / all).toFixed(3) : "-");
  const fact = (title, value, raw, key) => el("div", {}, el("dt", {}, title), el("dd", { "data-number": key, "data-value": raw }, value));
  const facts = el("dl", { class: "facts" },
    fact("run time", timeText(runTime), runTime / 1e9, "run_time_s"),
    fact("ranks", countText(list.length), list.length, "ranks"),
    fact("hosts", countText(new Set(list.map((at) => ranks.host[at])).size), new Set(list.map((at) => ranks.host[at])).size, "hosts"),
    fact("in MPI", percentText(mpi, whole), mpi / 1e9, "mpi_rank_s"),
    fact("parallel efficiency", of(worked, whole), whole > 0 ? worked / whole : null, "parallel_efficiency"),
    fact("load balance", of(worked / Math.max(1, list.length), mostWorking), null, "load_balance"),
    fact("communication efficiency", of(mostWorking, runTime), null, "communication_efficiency"));
  const isCalls = on.comm || on.op || on.bucket || on.phase || on.site;
  const parts = [];
  const add = (name, colour, ns, text) => { if (ns > 0) parts.push({ name, colour, ns, text }); };
  const unscheduled = sum(list.map((at) => ranks.unscheduled_ns[at]));
  if (!isCalls) add("working", "var(--working)", worked - unscheduled, "outside of MPI");
  if (!isCalls) add("without a processor", "var(--starved)", unscheduled, "outside of MPI and ready to run, while others had the processors: an estimate");
  const told = isCalls ? selected : mpi;
  if (isCalls) add("not selected", "var(--none)", whole - selected, "all else that these ranks did");
  const sure = Math.min(least, told), perhaps = Math.min(more, told - sure);
  add("waiting", "var(--waiting)", sure, data.waits?.exact ? "for other ranks, by the timeline" : "for other ranks, at least");
  add("waiting or moving", "var(--perhaps)", perhaps, "in barriers and all-to-all exchanges: counters tell bounds");
  add(sure + perhaps > 0 ? "moving and other MPI" : "MPI", "var(--moving)", told - sure - perhaps, "moving data, waiting in other calls, and the library's own work");
  if (!isCalls) add("ended early", "var(--ended)", ended, "from the end of a rank to the end of the last");
  const ledgerColumns = [word("part", "part", (row) => row.name), time("time of the ranks", "rank_s", (row) => row.ns),
    { title: "share", name: "share", value: (row) => row.ns / whole, text: (row) => percentText(row.ns, whole), number: true }, word("what it is", "meaning", (row) => row.text)];
  const ledger = figure("ledger", `Ranks times run time: ${several(list.length, "rank")} × ${timeText(runTime)}${isCalls ? ", of which the filters select calls" : ""}`,
    bars([{ label: "all ranks", parts: parts.map(({ name, colour, ns }) => [colour, ns, `${name}: ${timeText(ns)}, ${percentText(ns, whole)}`]) }],
      { width: half, label: parts.map(({ name, ns }) => `${name} ${percentText(ns, whole)}`).join(", "), labelWidth: 70, noteWidth: 0 }),
    ledgerColumns, parts, legend(parts.map(({ colour, name, ns }) => [colour, `${name}: ${percentText(ns, whole)}`])));
  const groups = commGroups(option("by", "families") === "families").filter((group) => group.time_ns > 0);
  const calls = groups.flatMap((group) => [...group.ops].map(([op, ns]) => ({ group, op, ns }))).sort(descending((call) => call.ns)).slice(0, 8);
  const callRows = calls.map(({ group, op, ns }) => ({ label: `${shortOp(ops[op])} on ${group.short}`, text: percentText(ns, whole), go: () => go({ ...group.filter, op: [ops[op].name] }), parts: [[opColour(op), ns, `${ops[op].name} on ${group.title}: ${timeText(ns)}`]] }));
  const callColumns = [{ title: "operation", name: "op", value: (call) => ops[call.op].name, text: (call) => link(ops[call.op].name, { op: [ops[call.op].name] }) },
      { title: "communicator", name: "communicator", value: (call) => call.group.title, text: (call) => link(call.group.title, call.group.filter) }, time("time of the ranks", "rank_s", (call) => call.ns),
      { title: "share", name: "share", value: (call) => call.ns / whole, text: (call) => percentText(call.ns, whole), number: true }];
  const heaviest = callRows.length ? figure("calls", "The heaviest calls, as shares of ranks times run time", bars(callRows, { ...size, label: `The heaviest calls: ${callRows.map((row) => `${row.label} ${row.text}`).join(", ")}` }), callColumns, calls) : null;
  fill(body, el("div", { class: "halves" }, el("div", {}, facts, ledger), heaviest),
    folded("ledger", "The ledger as a table", false, () => [table("ledger", "Where the run time of the ranks went", ledgerColumns, parts),
    table("calls", "The heaviest calls", callColumns, calls)]));
});
view("findings", () => {});
view("meta", () => {});
