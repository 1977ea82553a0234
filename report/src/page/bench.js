// What was measured of the machine: bandwidth and time by size, bandwidth by active ranks with the model that suits it.
const rateText = (value) => `${bytesText(value)}/s`;
// Round numbers between two: powers of the base, or multiples of one of them.
const roundTicks = (low, high, isLog, base) => {
  const power = (value) => Math.log(value) / Math.log(base);
  if (isLog) {
    const first = Math.ceil(power(low) - 1e-9), last = Math.floor(power(high) + 1e-9), step = Math.max(1, Math.ceil((last - first) / 6));
    return last > first ? range(Math.floor((last - first) / step) + 1).map((at) => base ** (first + at * step)) : [low, high];
  }
  const step = base ** Math.ceil(power((high - low) / 6));
  return range(Math.floor((high - low) / step) + 1).map((at) => low + at * step);
};
// Points with intervals over two axes, and lines beside them: { name, colour, points: [[x, y, low, high]], line: [[x, y]] }.
const chart = (series, { name, label, xText, yText, xTitle, yTitle, isLogX = true, isLogY = true, isFromZero = true, base = 2, ticks, width = 560, height = 300 }) => {
  const all = series.flatMap((one) => [...one.points, ...(one.line ?? [])]);
  const [left, right, top, bottom] = [86, 34, 26, 40];
  const spread = (values, isLog) => {
    let low = Math.min(...values), high = Math.max(...values);
    if (!isLog && isFromZero) low = Math.min(low, 0);
    if (low === high) { high = isLog ? low * 2 : low + 1; if (isLog) low /= 2; }
    return isLog ? [Math.log(low), Math.log(high)] : [low, high];
  };
  const xs = spread(all.map(([x]) => x), isLogX), ys = spread(all.flatMap(([, y, low, high]) => [y, low ?? y, high ?? y]), isLogY);
  const x = (value) => left + (((isLogX ? Math.log(value) : value) - xs[0]) / (xs[1] - xs[0])) * (width - left - right);
  const y = (value) => height - bottom - (((isLogY ? Math.log(value) : value) - ys[0]) / (ys[1] - ys[0])) * (height - top - bottom);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": label, "data-chart": name });
  const marks = ticks.length > 8 ? ticks.filter((_, at) => at % Math.ceil(ticks.length / 8) === 0) : ticks;
  for (const tick of marks) picture.append(svg("line", { x1: x(tick), x2: x(tick), y1: top, y2: height - bottom, class: "line" }), svg("text", { x: x(tick), y: height - bottom + 16, "text-anchor": "middle", class: "soft" }, xText(tick)));
  const [low, high] = isLogY ? ys.map(Math.exp) : ys;
  for (const value of roundTicks(low, high, isLogY, base)) picture.append(svg("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), class: "line" }), svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end", class: "soft" }, yText(value)));
  picture.append(svg("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle", class: "soft" }, xTitle), svg("text", { x: 2, y: 12, class: "soft" }, yTitle));
  for (const { name: title, colour, points, line, text } of series) {
    const path = line ?? points;
    picture.append(svg("polyline", { points: path.map((point) => `${x(point[0])},${y(point[1])}`).join(" "), fill: "none", stroke: colour, "stroke-width": 1.5, "stroke-dasharray": line ? "5 4" : null }));
    for (const [px, py, low, high] of points) {
      if (low !== null && low !== undefined) picture.append(svg("path", { d: `M${x(px)} ${y(low)}V${y(high)}M${x(px) - 4} ${y(low)}h8M${x(px) - 4} ${y(high)}h8`, stroke: colour, "stroke-width": 1.5, fill: "none", "data-interval": title }));
      picture.append(svg("circle", { cx: x(px), cy: y(py), r: 3.5, fill: colour, "data-series": title, "data-x": px, "data-y": py }, tip(text ? text(px, py) : `${title}: ${yText(py)} at ${xText(px)}`)));
    }
  }
  return el("div", { class: "scroll" }, picture);
};
const seriesBy = (rows, key) => {
  const groups = new Map();
  for (const row of rows) { if (!groups.has(key(row))) groups.set(key(row), []); groups.get(key(row)).push(row); }
  return [...groups];
};
view("bench", (body) => {
  const { lines, rows: all, models } = data.bench;
  const unique = (values) => [...new Set(values)], ascending = (values) => unique(values).sort((a, b) => a - b);
  const rows = all.filter((row) => row.step === 0);
  const patterns = unique(rows.map((row) => row.pattern));
  // The pattern that tells most: the most sizes, libraries and active ranks.
  const usual = [...patterns].sort(descending((pattern) => rows.filter((row) => row.pattern === pattern).length))[0];
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
  const figure = (caption, picture) => el("figure", {}, el("figcaption", {}, caption), picture);
  const picture = (series, name, what, options) => (series.length ? figure(what, chart(series, { name, label: `${what}: ${pattern}`, ticks: ascending(series.flatMap((one) => [...one.points, ...(one.line ?? [])].map(([x]) => x))), width, ...options })) : null);
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
      wholes.length ? figure(`Steps, each alone, beside the whole, ${at}, k = ${k}`, stepBars(wholes, steps, named, `Steps beside the whole: ${wholes.map((row) => `${named(row)}, ${secondsText(row.steps_s)} alone, ${secondsText(row.median_s)} together`).join("; ")}`, width)) : null),
    told.map((text) => el("p", { class: "about", "data-model": "" }, text)),
    el("p", { class: "about" }, "Bars are intervals of medians at 95 %. Filters do not apply here: these are measurements of the machine, not of the program."),
    folded("bench", "All measurements", false, () => table("bench", "Measurements of the machine", [word("pattern", "pattern", (row) => row.pattern), count("k", "k", (row) => row.k), word("library", "library", (row) => row.library), word("buffers", "buffers", (row) => row.buffers), size("bytes", "bytes", (row) => row.bytes), count("step", "step", (row) => row.step), size("message", "message_bytes", (row) => row.message_bytes),
      ...[["median", "median_s"], ["at least", "ci_lo_s"], ["at most", "ci_hi_s"], ["gained", "gained_s"], ["99 %", "p99_s"], ["half trip", "half_trip_s"]].map(([title, key]) => ({ title, name: key, value: (row) => row[key], text: (row) => (row[key] === null ? "" : secondsText(row[key])), number: true })),
      { title: "bandwidth", name: "bandwidth", value: (row) => row.bandwidth, text: (row) => (row.bandwidth === null ? "" : rateText(Math.round(row.bandwidth))), number: true },
      count("samples", "reps", (row) => row.reps), count("launches", "launches", (row) => row.launches), count("errors", "wrong", (row) => row.wrong), word("flag", "flag", (row) => row.flag ?? "")], all)));
});
