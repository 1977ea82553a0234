// What was measured of the machine: bandwidth and time by size, bandwidth by active ranks with the model that suits it.
const rateText = (value) => `${bytesText(value)}/s`;
const seriesBy = (rows, key) => {
  const groups = new Map();
  for (const row of rows) { if (!groups.has(key(row))) groups.set(key(row), []); groups.get(key(row)).push(row); }
  return [...groups];
};
// The pattern that tells most: the most sizes, libraries and active ranks.
const usualPattern = once(() => seriesBy(data.bench.rows.filter((row) => row.step === 0), (row) => row.pattern).sort(descending(([, rows]) => rows.length))[0][0]);
view("bench", (body) => {
  const { lines, rows: all, models } = data.bench;
  const unique = (values) => [...new Set(values)], ascending = (values) => unique(values).sort((a, b) => a - b);
  const rows = all.filter((row) => row.step === 0);
  const patterns = unique(rows.map((row) => row.pattern));
  const usual = usualPattern();
  const pattern = patterns.includes(option("pattern")) ? option("pattern") : usual;
  const meant = rows.filter((row) => row.pattern === pattern), [one] = meant;
  // MPI_Alltoall and the dense pattern of the same ranks are drawn together.
  const twin = { "dense omni": "alltoall omni", "alltoall omni": "dense omni" }[one.family];
  const kin = rows.find((row) => row.family === twin && row.n === one.n && row.g === one.g)?.pattern ?? "none";
  const others = patterns.filter((other) => other !== pattern);
  const besides = others.includes(option("beside")) || option("beside") === "none" ? option("beside") : kin;
  const shown = [...meant, ...rows.filter((row) => row.pattern === besides)];
  const ks = ascending(meant.map((row) => row.k)), most = String(ks.at(-1));
  const k = ks.map(String).includes(option("active")) ? option("active") : most;
  const sizes = ascending(meant.map((row) => row.bytes));
  const largest = String(sizes.filter((size) => ks.length === 1 || meant.some((row) => row.bytes === size && row.k !== ks[0])).at(-1) ?? sizes.at(-1));
  const size_ = sizes.map(String).includes(option("count")) ? option("count") : largest;
  const hasBuffers = unique(shown.map((row) => row.buffers)).length > 1, hasFamilies = unique(shown.map((row) => row.family)).length > 1;
  const named = (row) => `${hasFamilies ? `${row.family}: ` : ""}${row.library}${hasBuffers ? `, ${row.buffers}` : ""}`;
  const libraries = unique(shown.map(named)), colourOf = (name) => KINDS[libraries.indexOf(name) % KINDS.length];
  // A pattern that was not measured with this k is drawn with all its ranks.
  const hasK = (row) => String(row.k) === k || (row.pattern === besides && row.k === row.g && !shown.some((other) => other.pattern === besides && String(other.k) === k));
  const isSize = (row) => String(row.bytes) === size_;
  const RATE = ["bandwidth", "bandwidth_lo", "bandwidth_hi"], TIME = ["median_s", "ci_lo_s", "ci_hi_s"];
  const modelOf = (row) => models.find((model) => model.pattern === row.pattern && model.bytes === row.bytes && named(model) === named(row));
  // What the model of a row says: of its bandwidth, or of its time.
  const said = (row, value) => { const rate = modelOf(row)?.line.find(([at]) => at === row.k)?.[1]; return rate && (value === "bandwidth" ? rate : (row.bandwidth * row.median_s) / rate); };
  const over = (list, key, [value, low, high], lineOf) => seriesBy(list.filter((row) => row[value] > 0), named).map(([name, group]) => {
    const ordered = [...group].sort((a, b) => key(a) - key(b)), line = lineOf(ordered, value);
    return { name, colour: colourOf(name), points: ordered.map((row) => [key(row), row[value], row[low], row[high]]), line: line?.length ? line : null };
  });
  const modelled = (key) => (ordered, value) => ordered.map((row) => [key(row), said(row, value)]).filter(([, y]) => y > 0);
  const ofK = (row) => row.k, ofN = (row) => row.n;
  const byBytes = (fields) => over(shown.filter((row) => hasK(row) && row.median_s > 0), (row) => Math.max(1, row.bytes), fields, () => null);
  // A model knows the bandwidth of every k, also of those that were not measured.
  const byK = (fields) => over(shown.filter(isSize), ofK, fields, (ordered, value) => (value === "bandwidth" ? modelOf(ordered[0])?.line : modelled(ofK)(ordered, value)));
  const scaled_ = rows.filter((row) => shown.some((other) => other.family === row.family && other.g === row.g && other.k === row.k && hasK(other)) && isSize(row));
  const byN = (fields) => over(scaled_, ofN, fields, modelled(ofN));
  const width = Math.min(900, Math.max(480, Math.floor((roomOf(body) - 32) / 2)));
  const picture = (series, name, what, options) => (series.length ? figure(`bench-${name}`, what, chart(series, { name, label: `${what}: ${pattern}`, ticks: ascending(series.flatMap((one) => [...one.points, ...(one.line ?? [])].map(([x]) => x))), width, ...options }), pointColumns(options.xTitle, options.yTitle), pointRows(series)) : null);
  const rate = { yText: (value) => rateText(Math.round(value)), yTitle: "bandwidth" }, time = { yText: secondsText, yTitle: "median", base: 10 };
  const bytes = { xText: bytesText, xTitle: "bytes" }, active = { xText: String, xTitle: "k, active ranks of a group", isLogX: false, isLogY: false }, groups = { xText: String, xTitle: "n, groups", isLogY: false };
  const fits = models.filter((model) => shown.some((row) => row.pattern === model.pattern) && isSize(model));
  const told = fits.map((fit) => `${named(fit)}: ${fit.model}, ${rateText(fit.nic_bandwidth)} for a NIC, residual ${percentText(fit.residual, 1)}${fit.alike.length ? `; cannot be told from ${fit.alike.slice(0, 3).join(", ")}${fit.alike.length > 3 ? " and others" : ""}` : ""}`);
  const at = bytesText(Number(size_)), dashed = fits.length ? "; dashed: the model that fits best" : "";
  const steps = (whole) => all.filter((row) => row.step > 0 && row.pattern === whole.pattern && row.k === whole.k && row.bytes === whole.bytes && named(row) === named(whole));
  const wholes = shown.filter((row) => hasK(row) && isSize(row) && row.steps_s !== null);
  fill(body, el("dl", { class: "head" }, lines.map(([name, text]) => el("div", { class: name === "note" && "note" }, el("dt", {}, name), el("dd", { title: text }, text)))),
    tools(picker("pattern", "pattern ", patterns.map((one) => [one, one]), usual), others.length ? picker("beside", "beside ", [["none", "nothing"], ...others.map((one) => [one, one])], kin) : null,
      ks.length > 1 ? picker("active", "active ranks of a group, k ", ks.map((one) => [String(one), String(one)]), most) : null,
      sizes.length > 1 ? picker("count", "bytes, over k and n ", sizes.map((one) => [String(one), bytesText(one)]), largest) : null),
    legend(libraries.map((name) => [colourOf(name), name])),
    el("div", { class: "charts" },
      picture(byBytes(RATE), "bandwidth", `Bandwidth of the busiest group against size, k = ${k}`, { ...bytes, ...rate }),
      picture(byBytes(TIME), "time", `Time of the slowest rank against size, k = ${k}`, { ...bytes, ...time }),
      ks.length > 1 ? [picture(byK(RATE), "model", `Bandwidth against active ranks, ${at}${dashed}`, { ...active, ...rate }), picture(byK(TIME), "active-time", `Time against active ranks, ${at}${dashed}`, { ...active, ...time })] : null,
      unique(scaled_.map((row) => row.n)).length > 1 ? [picture(byN(RATE), "groups", `Bandwidth against groups, ${at}, k = ${k}${dashed}`, { ...groups, ...rate }), picture(byN(TIME), "groups-time", `Time against groups, ${at}, k = ${k}${dashed}`, { ...groups, ...time })] : null,
      wholes.length ? figure("bench-steps", `Steps, each alone, beside the whole, ${at}, k = ${k}`, el("div", {}, stepBars(wholes, steps, named, `Steps beside the whole: ${wholes.map((row) => `${named(row)}, ${secondsText(row.steps_s)} alone, ${secondsText(row.median_s)} together`).join("; ")}`, width)),
        [word("library", "library", (row) => named(row)), count("step", "step", (row) => row.step), count("median_s", "median_s", (row) => row.median_s)], wholes.flatMap((row) => [row, ...steps(row)])) : null),
    told.map((text) => el("p", { class: "about", "data-model": "" }, text)),
    el("p", { class: "about" }, "Bars are intervals of medians at 95 %. Filters do not apply here: these are measurements of the machine, not of the program."),
    folded("bench", "All measurements", false, () => table("bench", "Measurements of the machine", [word("pattern", "pattern", (row) => row.pattern), count("k", "k", (row) => row.k), word("library", "library", (row) => row.library), word("buffers", "buffers", (row) => row.buffers), size("bytes", "bytes", (row) => row.bytes), count("step", "step", (row) => row.step), size("message", "message_bytes", (row) => row.message_bytes),
      ...[["median", "median_s"], ["at least", "ci_lo_s"], ["at most", "ci_hi_s"], ["gained", "gained_s"], ["99 %", "p99_s"], ["half trip", "half_trip_s"]].map(([title, key]) => ({ title, name: key, value: (row) => row[key], text: (row) => (row[key] === null ? "" : secondsText(row[key])), number: true })),
      { title: "bandwidth", name: "bandwidth", value: (row) => row.bandwidth, text: (row) => (row.bandwidth === null ? "" : rateText(Math.round(row.bandwidth))), number: true },
      count("samples", "reps", (row) => row.reps), count("launches", "launches", (row) => row.launches), count("errors", "wrong", (row) => row.wrong), word("flag", "flag", (row) => row.flag ?? "")], all)));
});
