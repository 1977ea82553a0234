// What single ranks did, and who waited.
view("ranks", (body) => {
  const waits = waiting();
  const time_ns = new Map();
  for (const at of sums.rows) time_ns.set(cells.rank[at], (time_ns.get(cells.rank[at]) ?? 0) + cells.time_ns[at]);
  const caused = new Map(data.waits?.caused_ns ?? []);
  const block = blockOf();
  const list = range(ranks.rows).filter((at) => on.rank(ranks.rank[at])).map((at) => {
    const rank = ranks.rank[at];
    const [least, most] = waits.get(rank) ?? [0, 0];
    return { rank, host: hosts[ranks.host[at]], state: data.ranks.states[ranks.state[at]] ?? "", wall: ranks.wall_ns[at], mpi: ranks.mpi_ns[at], unscheduled: ranks.unscheduled_ns[at], selected: block === 1 ? time_ns.get(rank) ?? 0 : null, least, most, caused: caused.get(rank) ?? 0 };
  });
  if (!list.length) return fill(body, nothing());
  const parts = [];
  const runTime = Math.max(...list.map((row) => row.wall));
  const isCalls = on.comm || on.op || on.bucket || on.phase || on.site;
  const hasWaits = waits.size > 0;
  const sorted = [...list].sort((a, b) => b.least + b.most - (a.least + a.most) || b.mpi - a.mpi || a.rank - b.rank);
  const room = roomOf(body), width = room >= 1000 ? Math.floor((room - 48) / 2) : room, height = 170, step = width / sorted.length;
  const stack = (tops) => sorted.map((row, at) => `${at ? "L" : "M"}${(at * step).toFixed(2)} ${(height * (1 - tops(row) / runTime)).toFixed(2)}H${((at + 1) * step).toFixed(2)}`).join("") + `V${height}H0Z`;
  if (runTime > 0 && !isCalls) {
    const outside = (row) => row.wall - row.mpi, working = (row) => outside(row) - row.unscheduled;
    const isShort = sorted.some((row) => row.unscheduled > 0);
    const layers = [["var(--moving)", (row) => row.wall], ["var(--perhaps)", (row) => outside(row) + Math.min(row.mpi, row.most)], ["var(--waiting)", (row) => outside(row) + Math.min(row.mpi, row.least)], ["var(--starved)", outside], ["var(--working)", working]];
    const states = [["working", (row) => row.wall - row.mpi - row.unscheduled], ["without a processor", (row) => row.unscheduled], ["waiting, at least", (row) => row.least], ["waiting, at most", (row) => row.most], ["MPI", (row) => row.mpi]];
    parts.push(figure("ranks", hasWaits ? "Ranks sorted by waiting" : "Ranks sorted by MPI time",
      svg("svg", { viewBox: `0 0 ${width} ${height + 18}`, width, height: height + 18, role: "img", "aria-label": `Run time of ${several(sorted.length, "rank")}: rank ${sorted[0].rank} waits most, rank ${sorted.at(-1).rank} least` },
        layers.map(([colour, tops]) => svg("path", { d: stack(tops), fill: colour })), step < 22 ? null : sorted.map((row, at) => svg("text", { x: (at + 0.5) * step, y: height + 14, "text-anchor": "middle", class: "soft" }, String(row.rank)))),
      [count("rank", "rank", (row) => row.rank), ...states.map(([name, of]) => time(name, `${name.replace(/\W+/g, "_")}_s`, of))], sorted, legend([["var(--working)", "working"], ...(isShort ? [["var(--starved)", "without a processor"]] : []), ...(hasWaits ? [["var(--waiting)", data.waits.exact ? "waiting" : "waiting at least"], ...(data.waits.exact ? [] : [["var(--perhaps)", "waiting or moving"]])] : []), ["var(--moving)", "other MPI"]])));
  }
  const columns = [{ title: "rank", name: "rank", value: (row) => row.rank, text: (row) => link(String(row.rank), { rank: [String(row.rank)] }), number: true }, word("host", "host", (row) => row.host), word("state", "state", (row) => row.state),
    time("run time", "wall_s", (row) => row.wall), time("MPI", "mpi_s", (row) => row.mpi), time("working", "working_s", (row) => row.wall - row.mpi - row.unscheduled)];
  if (block === 1 && data.cells?.detail === "rank" && (!base.isBySite || base.areRanksTold)) columns.push(time("selected", "selected_s", (row) => row.selected));
  if (hasWaits) columns.push(time(data.waits.exact ? "waiting" : "waiting at least", "wait_min_s", (row) => row.least));
  if (hasWaits && !data.waits.exact) columns.push(time("at most", "wait_max_s", (row) => row.most));
  if (caused.size) columns.push(time("made others wait", "caused_s", (row) => row.caused));
  parts.push(table("ranks", "Run time of every rank", columns, sorted, { most: 16 }));
  fill(body, el("div", { class: "halves" }, parts));
});
