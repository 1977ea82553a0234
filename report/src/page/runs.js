// Many runs: mean times by configuration, boxes of an operation by the size of its communicators, and an entry's time against the run time.
// A box from the first to the third quarter with the median in it, whiskers to the last that are no outliers, and outliers as circles: { label, colour, box }.
const boxPlot = (columns, { label, name, width }) => {
  const height = 300, [left, right, top, bottom] = [86, 12, 12, 26];
  const most = Math.max(...columns.map(({ box: of }) => of.most_s), 1e-30), step = (width - left - right) / columns.length;
  const y = (value) => height - bottom - (value / most) * (height - top - bottom);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": label, "data-chart": name });
  for (const value of roundTicks(0, most, false, 10)) picture.append(svg("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), class: "line" }), svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end", class: "soft" }, secondsText(value)));
  columns.forEach(({ label: text, title, colour, box: of }, at) => {
    const middle = left + (at + 0.5) * step, half = Math.min(22, 0.32 * step);
    const { low_s: low, quarter_s: quarter, median_s: median, three_quarters_s: three, high_s: high } = of;
    picture.append(svg("g", { "data-box": title, "data-median": median }, tip(`${title}: ${secondsText(quarter)} to ${secondsText(three)}, median ${secondsText(median)}, ${several(of.runs, "run")}`), box(middle, half, y, { low, quarter, median, three, high }, colour),
      of.outliers_s.map((value) => svg("circle", { cx: middle, cy: y(value), r: 3.5, fill: "none", stroke: colour, "stroke-width": 1.5 }))),
    svg("text", { x: middle, y: height - 8, "text-anchor": "middle", class: "soft" }, fit(text, step - 4)));
  });
  picture.append(svg("text", { x: 2, y: height - 8, class: "soft" }, "ranks"));
  return el("div", { class: "scroll" }, picture);
};
view("runs", (body) => {
  const { configurations, runs, entries, boxes } = data.runs;
  const name = (at) => configurations[at].title || "all runs", short = apart(configurations.map((_, at) => name(at)), 50), colour = (at) => KINDS[at % KINDS.length];
  const isOp = (op) => !on.op || ops.some((one, at) => on.op[at] && one.name === op);
  const seconds = (title, key) => ({ title, name: key, value: (row) => row[key], text: (row) => (row[key] === null ? "" : secondsText(row[key])), number: true });
  const width = Math.min(900, Math.max(480, Math.floor((roomOf(body) - 32) / 2)));
  const means = configurations.map((one, at) => ({ label: short[at], text: `${secondsText(one.mean_s)}, MPI ${secondsText(one.mean_mpi_s)}`,
    parts: [["var(--moving)", one.mean_mpi_s, `${name(at)}: MPI time ${secondsText(one.mean_mpi_s)}`], ["var(--working)", one.mean_s - one.mean_mpi_s, `${name(at)}: run time ${secondsText(one.mean_s)}`]] }));
  const known = [...new Set(boxes.map((box) => box.op))].filter(isOp), op = known.includes(option("boxes")) ? option("boxes") : known[0];
  const columns = boxes.filter((box) => box.op === op).map((box) => ({ box, colour: colour(box.configuration), label: String(box.size ?? "?"), title: `${op}, ${box.size ?? "?"} ranks, ${name(box.configuration)}` }));
  const meant = entries.filter((entry) => isOp(entry.op) && (!on.comm || comms.some((comm, at) => on.comm[at] && comm.name === entry.comm)));
  const title = (entry) => `${entry.op.replace(/^MPI_/, "")} on ${entry.comms > 1 ? `${entry.comms} like ` : ""}${entry.comm}${entry.label ? ` "${entry.label}"` : ""}`;
  const chosen = Number(option("entry", "0")), entry = meant[chosen] ?? meant[0];
  const points = entry ? runs.map((run, at) => ({ ...run, time_s: entry.times_s[at] })) : [];
  const times = points.map((point) => point.run_time_s);
  const series = configurations.map((_, at) => ({ name: name(at), colour: colour(at), line: [], points: points.filter((point) => point.configuration === at).map((point) => [point.run_time_s, point.time_s]), text: (x, y) => `${name(at)}: ${secondsText(y)} of ${secondsText(x)}` }));
  const boxColumns = [word("operation", "op", (row) => row.op), count("ranks", "size", (row) => row.size), word("configuration", "configuration", (row) => name(row.configuration)), count("runs", "runs", (row) => row.runs),
    seconds("min", "least_s"), seconds("25 %", "quarter_s"), seconds("median", "median_s"), seconds("75 %", "three_quarters_s"), seconds("max", "most_s"), word("outliers", "outliers_s", (row) => row.outliers_s.join(" "))];
  const pointsColumns = [word("run", "run", (row) => row.path), word("configuration", "configuration", (row) => name(row.configuration)), seconds("time", "time_s"), seconds("run time", "run_time_s"), seconds("MPI time", "mpi_s"), word("outlier", "outlier", (row) => (row.is_outlier ? "yes" : ""))];
  const configurationColumns = [word("configuration", "configuration", (row) => row.title || "all runs"), count("runs", "runs", (row) => row.runs), seconds("run time, mean", "mean_s"), seconds("MPI time, mean", "mean_mpi_s"), seconds("run time, median", "median_s"), seconds("25 %", "quarter_s"), seconds("75 %", "three_quarters_s")];
  fill(body, figure("configurations", "Mean run time and MPI time by configuration", bars(means, { width: roomOf(body), label: `Mean run time by configuration: ${means.map((row) => `${row.label} ${row.text}`).join("; ")}` }), configurationColumns, configurations, legend([["var(--moving)", "MPI time, the mean over the ranks"], ["var(--working)", "rest of the run time"]])),
    table("configurations", "Configurations, by what they differ in", configurationColumns, configurations),
    legend(configurations.map((_, at) => [colour(at), short[at]])),
    el("div", { class: "charts" },
      columns.length ? figure("boxes", "Time of the rank with the most, by size of the communicator and configuration", el("div", {}, tools(picker("boxes", "operation ", known.map((one) => [one, one]), known[0])), boxPlot(columns, { name: "boxes", label: `Time of ${op} by size of the communicator and configuration: ${columns.map(({ title, box: of }) => `${title} ${secondsText(of.median_s)}`).slice(0, 4).join("; ")}`, width })), boxColumns, columns.map(({ box: of }) => of)) : null,
      entry ? figure("scatter", `Run time against the time of the rank with the most; r = ${entry.r === null ? "?" : entry.r.toFixed(3)}${entry.verdict ? `, ${entry.verdict}` : ""}`, el("div", {}, tools(picker("entry", "entry ", meant.map((one, at) => [String(at), title(one)]), "0")),
        chart(series, { name: "scatter", label: `Time of ${title(entry)} against the run time, by configuration`, xText: secondsText, yText: secondsText, xTitle: "run time", yTitle: title(entry), isLogX: false, isLogY: false, isFromZero: false, base: 10, ticks: roundTicks(Math.min(...times), Math.max(...times), false, 10), width })), pointsColumns, points) : null),
    table("points", entry ? `Runs: ${title(entry)}` : "Runs", pointsColumns, points, { most: 12 }),
    folded("boxes", "Boxes of all operations", false, () => table("boxes", "Time of the rank with the most, over the runs of a configuration", boxColumns, boxes)));
});
