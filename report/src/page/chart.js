// Charts over two axes: points with intervals, lines, boxes.
// Round numbers between two: powers of the base, or multiples of one of them; 1, 2 and 5 times powers of 10 where there are few.
const ONE_TWO_FIVE = [1, 2, 5, 10];
const roundTicks = (low, high, isLog, base) => {
  const power = (value) => Math.log(value) / Math.log(base);
  if (isLog) {
    const first = Math.ceil(power(low) - 1e-9), last = Math.floor(power(high) + 1e-9), step = Math.max(1, Math.ceil((last - first) / 6));
    if (base === 10 && last - first < 2) return range(4).flatMap((at) => ONE_TWO_FIVE.slice(0, 3).map((times) => times * 10 ** (first - 1 + at))).filter((value) => value >= low * 0.999 && value <= high * 1.001);
    return last > first ? range(Math.floor((last - first) / step) + 1).map((at) => base ** (first + at * step)) : [low, high];
  }
  const least = (high - low) / 6, below = base ** Math.floor(power(least)), step = base === 10 ? below * ONE_TWO_FIVE.find((times) => times * below >= least * 0.999) : base ** Math.ceil(power(least));
  const first = Math.ceil(low / step - 1e-9);
  return range(Math.floor(high / step + 1e-9) - first + 1).map((at) => (first + at) * step);
};
// From the least to the most that is drawn: in logarithms, or from 0.
const spread = (values, isLog, isFromZero) => {
  let low = Math.min(...values), high = Math.max(...values);
  if (!isLog && isFromZero) low = Math.min(low, 0);
  if (low === high) { high = isLog ? low * 2 : low + 1; if (isLog) low /= 2; }
  return isLog ? [Math.log(low), Math.log(high)] : [low, high];
};
// An empty chart, and where values are in it. xs and ys are values that have to be in it.
const axes = ({ name, label, xs, ys, xText, yText, xTitle, yTitle, isLogX = true, isLogY = true, isFromZero = true, isFromZeroX = isFromZero, base = 2, ticks, width = 560, height = 300 }) => {
  const [left, right, top, bottom] = [86, 34, 26, 40], across = spread(xs, isLogX, isFromZeroX), upwards = spread(ys, isLogY, isFromZero);
  const x = (value) => left + (((isLogX ? Math.log(value) : value) - across[0]) / (across[1] - across[0])) * (width - left - right);
  const y = (value) => height - bottom - (((isLogY ? Math.log(value) : value) - upwards[0]) / (upwards[1] - upwards[0])) * (height - top - bottom);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": label, "data-chart": name });
  // Of ticks that have no room between others every second one is left out, and so on.
  const room = 12 + 7.5 * Math.max(...ticks.map((tick) => xText(tick).length));
  let marks = [...ticks];
  while (marks.length > 2 && marks.some((tick, at) => at > 0 && x(tick) - x(marks[at - 1]) < room)) marks = marks.filter((_, at) => at % 2 === 0);
  for (const tick of marks) picture.append(svg("line", { x1: x(tick), x2: x(tick), y1: top, y2: height - bottom, class: "line" }), svg("text", { x: x(tick), y: height - bottom + 16, "text-anchor": "middle", class: "soft" }, xText(tick)));
  const [low, high] = isLogY ? upwards.map(Math.exp) : upwards;
  for (const value of roundTicks(low, high, isLogY, base)) picture.append(svg("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), class: "line" }), svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end", class: "soft" }, yText(value)));
  picture.append(svg("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle", class: "soft" }, xTitle), svg("text", { x: 2, y: 12, class: "soft" }, yTitle));
  return { picture, x, y, top, bottom: height - bottom };
};
// Points with intervals over two axes, and lines beside them: { name, colour, points: [[x, y, low, high]], line: [[x, y]] }.
const chart = (series, options) => {
  const all = series.flatMap((one) => [...one.points, ...(one.line ?? [])]);
  const { picture, x, y } = axes({ ...options, xs: all.map(([x]) => x), ys: all.flatMap(([, y, low, high]) => [y, low ?? y, high ?? y]) });
  for (const { name: title, colour, points, line, text } of series) {
    const path = line ?? points;
    picture.append(svg("polyline", { points: path.map((point) => `${x(point[0])},${y(point[1])}`).join(" "), fill: "none", stroke: colour, "stroke-width": 1.5, "stroke-dasharray": line ? "5 4" : null }));
    for (const [px, py, low, high] of points) {
      if (low !== null && low !== undefined) picture.append(svg("path", { d: `M${x(px)} ${y(low)}V${y(high)}M${x(px) - 4} ${y(low)}h8M${x(px) - 4} ${y(high)}h8`, stroke: colour, "stroke-width": 1.5, fill: "none", "data-interval": title }));
      picture.append(svg("circle", { cx: x(px), cy: y(py), r: 3.5, fill: colour, "data-series": title, "data-x": px, "data-y": py }, tip(text ? text(px, py) : `${title}: ${options.yText(py)} at ${options.xText(px)}`)));
    }
  }
  return el("div", { class: "scroll" }, picture);
};
// The numbers of a chart, for its file.
const pointRows = (series) => series.flatMap(({ name, points, line }) => [...points.map(([x, y, low, high]) => ({ name, x, y, low, high })), ...(line ?? []).map(([x, y]) => ({ name: `${name}, line`, x, y }))]);
const pointColumns = (xTitle, yTitle) => [word("series", "series", (row) => row.name), count(xTitle, xTitle, (row) => row.x), count(yTitle, yTitle, (row) => row.y), count("low", "low", (row) => row.low), count("high", "high", (row) => row.high)];
// Of ascending numbers: between two of them in proportion, as R and NumPy do it.
const quantile = (sorted, part) => {
  const place = (sorted.length - 1) * part, low = Math.floor(place);
  return sorted[low] + ((sorted[low + 1] ?? sorted[low]) - sorted[low]) * (place - low);
};
// From the first to the third quarter with the median in it, and whiskers: { low, quarter, median, three, high }, which y places.
const box = (middle, half, y, { low, quarter, median, three, high }, colour) => [
  svg("path", { d: `M${middle} ${y(low)}V${y(high)}M${middle - half / 2} ${y(low)}h${half}M${middle - half / 2} ${y(high)}h${half}`, stroke: "var(--soft)", fill: "none" }),
  svg("rect", { x: middle - half, y: y(three), width: 2 * half, height: Math.max(1, y(quarter) - y(three)), fill: colour, stroke: "var(--soft)" }),
  svg("line", { x1: middle - half, x2: middle + half, y1: y(median), y2: y(median), stroke: "var(--ink)", "stroke-width": 2 })];
