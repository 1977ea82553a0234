// Runs on the same number of ranks, in the order of their start: days without a run take no room.
const secondsOf = (start) => Date.parse(/Z$|UTC$/.test(start) ? start.replace(" UTC", "Z").replace(" ", "T") : `${start.replace(" ", "T")}Z`) / 1000;
const dateText = (seconds, isOneDay) => { const text = new Date(1000 * seconds).toISOString(); return isOneDay ? text.slice(11, 19) : text.slice(0, 10); };
view("history", (body) => {
  const all = data.history.map((run) => ({ ...run, at: secondsOf(run.start) })).filter((run) => !Number.isNaN(run.at));
  const counts = [...new Set(all.map((run) => run.ranks))].sort(descending((ranks) => all.filter((run) => run.ranks === ranks).length));
  if (!counts.length) return fill(body, nothing("No run says in a known way when it started."));
  const chosen = counts.map(String).includes(option("size")) ? Number(option("size")) : counts[0], runs = all.filter((run) => run.ranks === chosen).sort((a, b) => a.at - b.at);
  const isOneDay = dateText(runs[0].at) === dateText(runs.at(-1).at), [first, last] = [runs[0], runs.at(-1)];
  const text = (what) => (at, y) => { const run = runs[at]; return `${run.start}, ${run.path}: ${what} ${secondsText(y)}`; };
  const series = [["run time", "var(--working)", "run_time_s"], ["MPI time, mean over ranks", "var(--moving)", "mpi_s"]].map(([name, colour, key]) => ({ name, colour, points: runs.map((run, at) => [at, run[key]]), text: text(name) }));
  const label = `Run time of ${several(chosen, "rank")} by start: ${secondsText(first.run_time_s)} on ${first.start}, ${secondsText(last.run_time_s)} on ${last.start}`;
  const seconds = (title, key) => ({ title, name: key, value: (run) => run[key], text: (run) => secondsText(run[key]), number: true });
  const columns = [word("started", "start", (run) => run.start), word("profile", "path", (run) => run.path), count("ranks", "ranks", (run) => run.ranks), seconds("run time", "run_time_s"), seconds("MPI time", "mpi_s")];
  fill(body, counts.length > 1 ? tools(picker("size", "runs on ", counts.map((ranks) => [String(ranks), several(ranks, "rank")]), String(counts[0]))) : null,
    figure("history", `Run time and MPI time of ${several(runs.length, "run")} on ${several(chosen, "rank")}`, chart(series, { name: "history", label, xText: (at) => dateText(runs[at].at, isOneDay), yText: secondsText, xTitle: isOneDay ? `started on ${dateText(first.at)} (UTC)` : "started, in this order", yTitle: "time", isLogX: false, isLogY: false, isFromZeroX: false, base: 10, ticks: range(runs.length), width: Math.min(1100, roomOf(body)) }), columns, runs,
      legend(series.map(({ colour, name }) => [colour, name]))),
    table("history", "Runs by when they started", columns, runs, { most: 12 }));
});
