// Draws the timeline through a pen: an overview of the whole, a ruler, a lane for each row, and the share of MPI beside it. Returns how many messages are in view, late, and drawn.
const OVERVIEW = 24, RULER = 20, LANES_TOP = OVERVIEW + RULER + 4;
const layOutTrace = (rows, width, span, whole) => {
  const wide = Math.max(...rows.map((row) => measuredText(`${row.key ? "▸ " : ""}${row.title}`) + 10 * row.depth));
  const left = Math.ceil(Math.max(44, Math.min(0.3 * width, wide + 14))), shares = width < 700 ? 50 : 96;
  const high = Math.max(8, Math.min(26, Math.floor(1000 / rows.length))), room = width - left - shares;
  const x = (ns) => left + ((ns - span[0]) / (span[1] - span[0])) * room;
  // Tall pictures have the ruler at their end, too.
  const end = LANES_TOP + rows.length * high + 2, height = end > 600 ? end + RULER : end;
  return { width, left, room, shares, high, span, whole, x, end, height, y: (row) => LANES_TOP + row * high };
};
const textWidths = new Map();
const measuredText = (text) => {
  if (!textWidths.has(text)) { fit("", 1); measure.font = fit.font; textWidths.set(text, measure.measureText(text).width); }
  return textWidths.get(text);
};

// How much of each pixel some lanes spend in each colour: what begins or ends within a pixel is added there, whole pixels between by where they begin and end.
let pixelBuffer = new Float32Array(0);
const pixelsOf = (kinds, room) => {
  const stride = room + 2, size = 2 * kinds * stride;
  if (pixelBuffer.length < size) pixelBuffer = new Float32Array(size);
  const parts = pixelBuffer.subarray(0, size / 2).fill(0), steps = pixelBuffer.subarray(size / 2, size).fill(0);
  const add = (from, to, kind) => {
    const first = Math.floor(from), last = Math.floor(to), base = kind * stride;
    if (first === last) { parts[base + first] += to - from; return; }
    parts[base + first] += first + 1 - from;
    parts[base + last] += to - last;
    steps[base + first + 1] += 1;
    steps[base + last] -= 1;
  };
  // Runs of pixels: [from, to, kind that most have, level of all].
  const runs = (lanes, least) => {
    const list = [], open = new Float64Array(kinds);
    for (let pixel = 0; pixel < room; pixel++) {
      let all = 0, most = 0, kind = 0;
      for (let at = 0, place = pixel; at < kinds; at++, place += stride) {
        open[at] += steps[place];
        const part = open[at] + parts[place];
        all += part;
        if (part > most) { most = part; kind = at; }
      }
      if (!(all > 1e-6)) continue;
      const level = Math.max(least, Math.min(LEVELS, Math.ceil((all / lanes) * LEVELS - 1e-3))), last = list.at(-1);
      if (last?.[1] === pixel && last[2] === kind && last[3] === level) last[1] = pixel + 1;
      else list.push([pixel, pixel + 1, kind, level]);
    }
    return list;
  };
  return { add, runs };
};
// What some lanes did in a span: bars of one lane that are wide enough, runs of pixels of all else, and how long they were in MPI and waited.
const picturedOf = (lanes, { list, reach }, palette, [low, high], room, areBars) => {
  const { begin_ns } = data.timeline.calls, { end_ns } = traced(), { wait_ns } = waitsTraced(), scale = room / (high - low);
  const bars = [], pixels = pixelsOf(palette.colours.length, room);
  let mpi_ns = 0, waiting_ns = 0, call = 0;
  const add = (from_ns, to_ns, kind) => {
    const from = Math.max(0, (from_ns - low) * scale), to = Math.min(room, (to_ns - low) * scale);
    if (areBars && to - from >= 2) bars.push([from, to, kind, call]);
    else if (from < room) pixels.add(from, Math.max(to, Math.min(room, from + 0.02)), kind);
  };
  for (const lane of lanes) {
    for (let at = firstAt(lane, reach, low); at < lane.to; at++) {
      call = list[at];
      if (begin_ns[call] > high) break;
      const from = Math.max(low, begin_ns[call]);
      mpi_ns += Math.max(0, Math.min(high, end_ns[call]) - from);
      waiting_ns += Math.max(0, Math.min(high, begin_ns[call] + wait_ns[call]) - from);
      palette.parts(call, add);
    }
  }
  return { bars, runs: pixels.runs(lanes.length, areBars ? 3 : 1), mpi_ns, waiting_ns };
};
const drawRuns = (pen, runs, palette, left, top, high) => { for (const [from, to, kind, level] of runs) pen.rect(left + from, top, to - from, high, palette.tint(kind, level)); };

const TICKS = [1, 2, 5];
// Round times: in one unit, with as many digits as tell neighbours apart.
const ticksOf = ([low, high], room) => {
  const least = ((high - low) / room) * 90;
  let step = 1;
  for (let at = 0; step < least; at++) step = TICKS[at % 3] * 10 ** Math.floor(at / 3);
  const text = momentText(high, step), first = Math.ceil(low / step);
  return range(Math.max(0, Math.floor(high / step) - first + 1)).map((at) => [(first + at) * step, text((first + at) * step)]);
};
// Moments until `high`, of which two that are a step apart have different texts.
const momentText = (high, step) => {
  const [factor, unit] = high >= 1e9 ? [1e9, "s"] : high >= 1e6 ? [1e6, "ms"] : high >= 1e3 ? [1e3, "µs"] : [1, "ns"];
  const digits = Math.max(0, Math.round(Math.log10(factor)) - Math.floor(Math.log10(step)));
  return (ns) => `${(ns / factor).toFixed(digits)} ${unit}`;
};
const spanTold = ([low, high]) => { const text = momentText(high, Math.max(1, (high - low) / 100)); return `${text(low)} to ${text(high)}`; };
const drawRuler = (pen, { span, left, room, end, height, x, width, shares }) => {
  for (const [ns, text] of ticksOf(span, room)) {
    pen.line([[x(ns), OVERVIEW + RULER - 4], [x(ns), end]], "--line");
    if (x(ns) > left + room - 30) continue;
    pen.text(x(ns) + 3, OVERVIEW + RULER - 5, text, "--soft", { size: 11 });
    if (height > end) pen.text(x(ns) + 3, height - 6, text, "--soft", { size: 11 });
  }
  pen.text(width, OVERVIEW + RULER - 5, shares < 60 ? "MPI" : "time in MPI", "--soft", { anchor: "end", size: 11 });
};
// The whole timeline, with what is shown of it as a window.
let overviewKept = {};
const drawOverview = (pen, { layout, shown, palette, key }) => {
  const { left, room, whole, span } = layout;
  if (overviewKept.key !== key) overviewKept = { key, runs: picturedOf(shown.lanes, shown, palette, whole, room, false).runs };
  pen.rect(left, 2, room, OVERVIEW - 6, "--none");
  drawRuns(pen, overviewKept.runs, palette, left, 2, OVERVIEW - 6);
  const part = (ns) => ((ns - whole[0]) / (whole[1] - whole[0])) * room, from = part(span[0]);
  pen.frame(left + from, 1, Math.max(3, part(span[1]) - from), OVERVIEW - 4, "--ink", 2);
  pen.text(0, OVERVIEW - 9, "whole", "--soft", { size: 11 });
};
const drawRow = (pen, { layout, shown, palette, colouring }, row, at) => {
  const { left, room, span, high, y, width, shares } = layout, { calls } = data.timeline, { wait_ns } = waitsTraced();
  const isLane = !row.key, inside = high - (high > 10 ? 3 : 1), top = y(at) + 1;
  const { bars, runs, mpi_ns, waiting_ns } = picturedOf(row.lanes, shown, palette, span, room, isLane);
  pen.rect(left, top, room, inside, "--none");
  drawRuns(pen, runs, palette, left, top, inside);
  for (const [from, to, kind, call] of bars) {
    pen.rect(left + from, top, to - from > 3 ? to - from - 0.5 : to - from, inside, palette.colours[kind]);
    if (colouring !== "state" && wait_ns[call] > 0 && high >= 12) pen.rect(left + from, top + inside - 3, Math.max(0, Math.min(left + to, layout.x(calls.begin_ns[call] + wait_ns[call])) - left - from), 3, "--waiting");
    if (to - from < 34 || high < 14) continue;
    // A name that is cut may be another one's.
    const text = colouring === "comm" ? titleOf(comms[calls.comm[call]]) : shortOp(ops[calls.op[call]]);
    if (measuredText(text) < to - from - 4) pen.text(left + from + 4, top + inside / 2 + 3.5, text, inkOn(rgb(palette.colours[kind])), { size: 11 });
  }
  const isNamed = high >= 11 || at % 2 === 0;
  if (isNamed) pen.text(left - 6, top + inside / 2 + 4, `${row.key ? (unfolded.has(row.key) ? "▾ " : "▸ ") : ""}${row.title}`, "--ink", { anchor: "end", size: high >= 11 ? 12 : 10 });
  const whole_ns = (span[1] - span[0]) * row.lanes.length, from = left + room + 8, bar = shares - 46;
  if (bar > 20) {
    pen.rect(from, top + 1, bar, inside - 2, "--none");
    pen.rect(from, top + 1, (bar * Math.min(whole_ns, mpi_ns)) / whole_ns, inside - 2, "--moving");
    pen.rect(from, top + 1, (bar * Math.min(whole_ns, waiting_ns)) / whole_ns, inside - 2, "--waiting");
  }
  if (isNamed) pen.text(width, top + inside / 2 + 4, `${Math.round((100 * mpi_ns) / whole_ns)} %`, "--ink", { anchor: "end", size: high >= 11 ? 11 : 9 });
};
const drawTrace = (pen, picture) => {
  const { layout, rows } = picture, { left, room, end } = layout;
  drawOverview(pen, picture);
  drawRuler(pen, layout);
  rows.forEach((row, at) => drawRow(pen, picture, row, at));
  let messages;
  pen.clip(left, LANES_TOP - 2, room, end - LANES_TOP + 2, () => {
    messages = drawMessages(pen, picture);
    if (picture.isPath) drawPath(pen, picture);
  });
  return messages;
};
