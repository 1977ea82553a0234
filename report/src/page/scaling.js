// Runs on different numbers of ranks: efficiencies as POP has them, run time with the ideal one, and MPI time by communicator.
const GOOD = 0.8, POOR = 0.6;
const EFFICIENCY = [["#56b4e9", `from ${GOOD}: good`], ["#f0e442", `${POOR} to ${GOOD}: worth a look`], ["#d55e00", `below ${POOR}: poor`]];
const efficiencyColour = (value) => EFFICIENCY[value >= GOOD ? 0 : value >= POOR ? 1 : 2][0];
const efficienciesOf = (sizes, kind) => [
  ["global efficiency", 0, (one) => (one[kind] === null ? null : one.parallel_efficiency * one[kind]), "global_efficiency"], ["parallel efficiency", 1, (one) => one.parallel_efficiency, "parallel_efficiency"],
  ["load balance", 2, (one) => one.load_balance, "load_balance"], ["in nodes", 3, (one) => one.load_balance_in_nodes, "load_balance_in_nodes"], ["between nodes", 3, (one) => one.load_balance_between_nodes, "load_balance_between_nodes"],
  ["communication efficiency", 2, (one) => one.communication_efficiency, "communication_efficiency"], [`computation scaling (${kind})`, 1, (one) => one[kind], "computation_scaling"]]
  .map(([title, depth, value, name]) => ({ title, depth, value, name })).filter(({ depth }) => depth < 3 || sizes.some((one) => one.load_balance_between_nodes !== 1)).filter(({ value }) => sizes.some((one) => value(one) !== null));
const efficiencyText = (value) => (value === null ? "" : value.toFixed(2));
const efficiencyTable = (sizes, factors) => el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Efficiencies by number of ranks" }, el("table", { class: "heated", "data-heat": "efficiencies" },
  el("caption", {}, "Efficiencies by number of ranks; each is the product of those below it"),
  el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "efficiency"), sizes.map((one) => el("th", { scope: "col", class: "number", title: one.path }, several(one.ranks, "rank"))))),
  el("tbody", {}, factors.map(({ title, depth, value, name }) => {
    const head = el("th", { scope: "row" }, title);
    head.style.paddingInlineStart = `${0.4 + 1.2 * depth}em`;
    return el("tr", {}, head, sizes.map((one) => {
      const node = el("td", { "data-factor": name, "data-ranks": one.ranks, "data-value": value(one) }, efficiencyText(value(one)));
      if (value(one) !== null) { const colour = efficiencyColour(value(one)); node.style.background = colour; node.style.color = inkOn(rgb(colour)); }
      return node;
    }));
  }))));
// The same to save.
const efficiencySvg = (sizes, factors) => {
  const [left, wide, high] = [230, 90, 24], pen = svgPen(left + wide * sizes.length + 8, high * (factors.length + 1) + 8);
  sizes.forEach((one, at) => pen.text(left + (at + 0.5) * wide, 16, several(one.ranks, "rank"), "--soft", { anchor: "middle" }));
  factors.forEach(({ title, depth, value }, row) => {
    pen.text(8 + 14 * depth, high * (row + 1) + 16, title);
    sizes.forEach((one, at) => { if (value(one) === null) return; const colour = efficiencyColour(value(one)); pen.rect(left + at * wide, high * (row + 1), wide - 2, high - 2, colour); pen.text(left + (at + 0.5) * wide, high * (row + 1) + 16, efficiencyText(value(one)), inkOn(rgb(colour)), { anchor: "middle" }); });
  });
  return pen.picture;
};
// Colours of communicators of this page where they have the same name; no two are the same.
const familyColours = (families) => {
  const taken = new Set();
  return families.map(({ comm }) => {
    const at = comms.findIndex((one) => one.name === comm), own = at < 0 ? REST : commColour(at), colour = own !== REST && !taken.has(own) ? own : COMMS.find((one) => !taken.has(one)) ?? REST;
    taken.add(colour);
    return colour;
  });
};
const scalingChart = (name, caption, series, sizes, width) => figure(name, caption, chart(series, { name, label: `${caption}: ${series.map(({ name: of, points }) => (points.length ? `${of} from ${secondsText(points[0][1])} to ${secondsText(points.at(-1)[1])}` : of)).join("; ")}`,
  xText: String, yText: secondsText, xTitle: "ranks", yTitle: "time", base: 10, ticks: sizes.map((one) => one.ranks), width }), pointColumns("ranks", "time_s"), pointRows(series), legend(series.map(({ colour, name: of, line }) => [colour, `${of}${line ? " (dashed)" : ""}`])));
view("scaling", (body) => {
  const { sizes, families: all, is_weak: isWeak } = data.scaling, usual = isWeak ? "weak" : "strong", kind = option("scaling", usual) === "weak" ? "weak" : "strong";
  const [first, last] = [sizes[0], sizes.at(-1)], factors = efficienciesOf(sizes, kind), width = Math.min(900, Math.max(480, Math.floor((roomOf(body) - 32) / 2)));
  const ideal = (one) => (kind === "weak" ? first.run_time_s : (first.run_time_s * first.ranks) / one.ranks);
  const times = [{ name: "run time", colour: "var(--working)", points: sizes.map((one) => [one.ranks, one.run_time_s]) }, { name: "MPI time, mean over ranks", colour: "var(--moving)", points: sizes.filter((one) => one.mpi_s > 0).map((one) => [one.ranks, one.mpi_s]) },
    { name: "ideal run time", colour: "var(--ink)", points: [], line: sizes.map((one) => [one.ranks, ideal(one)]) }];
  const heavy = all.filter(({ comm, label }) => !on.comm || comms.some((one, at) => on.comm[at] && (one.name === comm || (label && one.label === label)))).slice(0, COMMS.length), colours = familyColours(heavy);
  const series = heavy.map(({ comm, label, times_s: own }, at) => ({ name: label ? `${comm} "${label}"` : comm, colour: colours[at], points: sizes.map((one, size) => [one.ranks, own[size]]).filter(([, y]) => y > 0) })).filter(({ points }) => points.length);
  const columns = [count("ranks", "ranks", (one) => one.ranks), count("runs", "runs", (one) => one.runs), word("profile", "path", (one) => one.path), ...[["run time", "run_time_s"], ["MPI time", "mpi_s"], ["working, all ranks", "working_rank_s"]].map(([title, key]) => ({ title, name: key, value: (one) => one[key], text: (one) => secondsText(one[key]), number: true })),
    ...factors.map(({ title, name, value }) => ({ title, name, value, text: (one) => efficiencyText(value(one)), number: true }))];
  fill(body, tools(picker("scaling", "scaling ", [["strong", "strong: the same problem on more ranks"], ["weak", "weak: the same problem on each rank"]], usual)),
    el("p", { class: "answer" }, `From ${first.ranks} to ${several(last.ranks, "rank")} the time outside MPI, over all ranks, became ${(last.working_rank_s / first.working_rank_s).toFixed(2)} times as long: taken as ${usual} scaling. `,
      kind === "weak" ? `Run time: ${secondsText(first.run_time_s)} → ${secondsText(last.run_time_s)}.` : `Speedup: ${(first.run_time_s / last.run_time_s).toFixed(2)}, ideal ${(last.ranks / first.ranks).toFixed(2)}.`),
    el("figure", { "data-figure": "efficiencies" }, efficiencyTable(sizes, factors), legend(EFFICIENCY), savers("efficiencies", () => efficiencySvg(sizes, factors), columns, sizes)),
    el("div", { class: "charts" }, scalingChart("runtimes", "Run time against ranks", times, sizes, width),
      series.length ? scalingChart("familytimes", `MPI time by communicator against ranks, mean over all ranks; communicators of one call are one line${all.length > heavy.length ? `; the heaviest ${heavy.length}` : ""}`, series, sizes, width) : null),
    sizes.some((one) => one.runs > 1) ? el("p", { class: "about" }, "Several runs on one number of ranks: the one with the median run time is shown.") : null,
    folded("scaling", "The numbers as a table", false, () => table("scaling", "Efficiencies and times by number of ranks", columns, sizes)));
});
