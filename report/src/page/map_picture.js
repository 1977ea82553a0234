// Draws the map: names on the left, ranks across, the sum of each row on the right. Only rows that are seen are drawn, however many there are.
const MAP_ROW = 34, MAP_MEMBER = 18, MAP_TOP = 34, MAP_HIGH = 560;
const mapPicture = ({ rows, columns, most, text, width, label }) => {
  const isNarrow = width < 720, left = isNarrow ? Math.min(120, Math.round(0.34 * width)) : Math.min(340, Math.round(0.3 * width)), right = isNarrow ? 0 : Math.min(250, Math.round(0.2 * width));
  const room = Math.max(60, width - left - right), cell = room / columns.count, tops = [];
  let high = 0;
  for (const row of rows) { tops.push(high); high += row.isMember ? MAP_MEMBER : MAP_ROW; }
  const heaviest = Math.max(...rows.map((row) => row.filled().all), 1);
  const colours = once(() => lut().map(css)), part = (value) => (most > 0 ? value / most : 0);
  const highOf = (row) => (row.isMember ? MAP_MEMBER : MAP_ROW);
  // Several ranks on one pixel: the one with the most.
  const pixels = Math.min(columns.count, Math.floor(room)), wide = room / pixels;
  const atPixel = (values, pixel) => {
    let found = -1;
    const end = Math.ceil(((pixel + 1) * columns.count) / pixels);
    for (let column = Math.floor((pixel * columns.count) / pixels); column < end && column < columns.count; column++) if (values[column] > found) found = values[column];
    return found;
  };
  const drawCells = (pen, row, y) => {
    const { values } = row.filled(), gap = wide > 6 ? 1 : 0, tall = highOf(row) - (row.isMember ? 3 : 8);
    for (let pixel = 0, from = 0; pixel <= pixels; pixel++) {
      const value = pixel < pixels ? atPixel(values, pixel) : NaN, before = atPixel(values, from);
      // Neighbours of one colour are one rectangle, where no gap is between them.
      if (pixel < pixels && !gap && pixel > from && (value < 0) === (before < 0) && Math.round(255 * part(value)) === Math.round(255 * part(before)) && (value > 0) === (before > 0)) continue;
      if (pixel > from) {
        if (before >= 0) pen.rect(left + from * wide, y + 3, (pixel - from) * wide - gap, tall, before > 0 ? colours()[Math.max(0, Math.min(255, Math.round(part(before) * 255)))] : "--none");
        if (before > 0 && wide >= 62 && !row.isMember) pen.text(left + (from + pixel) * wide / 2, y + 20, text(before), inkOn(lut()[Math.round(part(before) * 255)]), { anchor: "middle", size: 11 });
        from = pixel;
      }
    }
  };
  const drawRow = (pen, row, y, isAt) => {
    const filled = row.filled(), tall = highOf(row), mark = row.isFamily ? (row.isOpen ? "▾ " : "▸ ") : "";
    if (isAt) pen.rect(0, y, width, tall - 1, "--raised");
    pen.text(row.isMember ? 26 : 4, y + (row.isMember ? 13 : isNarrow ? 21 : 15), fit(`${mark}${row.head}`, left - 10), "--ink", { bold: !row.isMember, size: row.isMember ? 11 : 12 });
    if (!row.isMember && !isNarrow) pen.text(4, y + 28, fit(row.about, left - 10, 11), "--soft", { size: 11 });
    drawCells(pen, row, y);
    if (!right || filled.all <= 0) return;
    const long = right - 96;
    let x = left + room + 10;
    for (const [op, value] of [...filled.byOp].sort(descending(([, value]) => value))) { const length = (value / heaviest) * long; pen.rect(x, y + (row.isMember ? 5 : 8), Math.max(length, 0.4), tall - (row.isMember ? 9 : 18), opColour(op)); x += length; }
    pen.text(x + 5, y + tall / 2 + 3, text(filled.all), "--soft", { size: 11 });
  };
  const drawTop = (pen) => {
    pen.rect(0, 0, width, MAP_TOP - 1, "--ground");
    if (!columns.areHosts && hosts.length > 1) for (let from = 0, at = 1; at <= columns.count; at++) {
      if (at < columns.count && columns.host(at) === columns.host(from)) continue;
      pen.rect(left + from * cell, MAP_TOP - 9, (at - from) * cell - (cell > 1 ? 1 : 0), 6, hostColour(columns.host(from)));
      from = at;
    }
    const steps = Math.max(1, Math.ceil(columns.count / (room / (columns.areHosts ? 90 : 34)))), nice = [1, 2, 4, 8, 16, 32, 50, 64, 100, 128, 200, 256, 500, 512, 1000, 1024, 2000, 2048, 5000].find((step) => step >= steps) ?? steps;
    for (let at = 0; at < columns.count; at += nice) pen.text(left + (at + 0.5) * cell, MAP_TOP - 13, columns.areHosts ? fit(hosts[at], nice * cell) : String(ranks.rank[at]), "--soft", { anchor: "middle", size: 11 });
    pen.text(left - 8, MAP_TOP - 13, columns.areHosts ? "host" : "rank", "--soft", { anchor: "end", size: 11 });
    if (right) pen.text(left + room + 10, MAP_TOP - 13, "over all ranks", "--soft", { size: 11 });
  };
  let at = null;
  // The communicator under the mouse, framed: its ranks in this row.
  const commAt = () => at && rows[at.row].comms.find((comm) => columns.areHosts ? membersOf()[comm].some((run) => columns.of(run[0]) === at.column) : hasRank(membersOf()[comm], ranks.rank[at.column]));
  const drawFrame = (pen, row, y) => {
    const comm = commAt();
    if (comm === undefined || comm === null) return;
    for (const [first, count, step] of membersOf()[comm]) {
      const from = columns.of(first), to = columns.of(first + (count - 1) * step);
      if (from < 0 || to < 0) continue;
      if (step === 1 || columns.areHosts) pen.frame(left + from * cell, y + 2, (to - from + 1) * cell, highOf(row) - (row.isMember ? 1 : 6), "--focus", 2);
      else if (count * 3 < room) for (let one = 0; one < count; one++) pen.frame(left + columns.of(first + one * step) * cell, y + 2, Math.max(cell, 2), highOf(row) - (row.isMember ? 1 : 6), "--focus", 2);
    }
  };
  const shownHigh = Math.min(high, MAP_HIGH), canvas = el("canvas", { tabindex: 0, role: "application", "aria-roledescription": "map", "data-heat": "map", "aria-label": `${label}. Arrow keys read single cells, Enter selects the communicator of a cell, plus and minus open and close a family.` });
  const scroller = el("div", { class: "mapped" }, el("div", {}, canvas)), readout = el("output", { class: "readout", "aria-live": "polite" }, `${label}.`);
  scroller.style.maxHeight = `${MAP_TOP + shownHigh + 4}px`;
  scroller.firstChild.style.height = `${MAP_TOP + high}px`;
  const pen = canvasPen(canvas, width, MAP_TOP + shownHigh);
  const rowAt = (y) => { let row = 0; while (row + 1 < rows.length && tops[row + 1] <= y) row++; return row; };
  const draw = () => {
    const top = scroller.scrollTop;
    pen.rect(0, 0, width, MAP_TOP + shownHigh, "--ground");
    for (let row = rowAt(top); row < rows.length && tops[row] < top + shownHigh; row++) {
      drawRow(pen, rows[row], MAP_TOP + tops[row] - top, at?.row === row);
      if (at?.row === row) drawFrame(pen, rows[row], MAP_TOP + tops[row] - top);
    }
    drawTop(pen);
  };
  const say = () => {
    if (!at) return `${label}.`;
    const row = rows[at.row], comm = commAt(), value = row.filled().values[at.column], name = columns.name(at.column), runs = comm === undefined || comm === null ? [] : membersOf()[comm];
    const members = sum(runs.map(([, count]) => count));
    return [row.head, comm !== undefined && comm !== null && row.comms.length > 1 ? titleOf(comms[comm]) : "", members ? `${several(members, "rank")}: ${fit(rangesText(runs.flatMap(([first, count, step]) => range(Math.min(count, 64)).map((one) => first + one * step)).slice(0, 64)), 260)}` : "",
      `${name}${columns.areHosts ? "" : hosts.length > 1 ? ` (${columns.host(at.column)})` : ""}: ${value < 0 ? "no member" : text(value)}`].filter(Boolean).join(" · ");
  };
  const look = (row, column) => {
    const before = at;
    at = row === null ? null : { row: Math.max(0, Math.min(rows.length - 1, row)), column: Math.max(0, Math.min(columns.count - 1, column)) };
    readout.textContent = say();
    if (before?.row !== at?.row || before?.column !== at?.column) draw();
  };
  const select = () => { const comm = commAt(); if (comm !== undefined && comm !== null) mapSelect({ comm: [comms[comm].name], family: [] }); };
  const under = (event) => {
    const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    return { x, isTop: y < MAP_TOP, row: rowAt(Math.max(0, y - MAP_TOP + scroller.scrollTop)), column: Math.floor((x - left) / cell) };
  };
  canvas.addEventListener("mousemove", (event) => { const { x, isTop, row, column } = under(event); canvas.style.cursor = isTop ? "" : "pointer"; look(isTop ? null : row, x < left || x > left + room ? at?.column ?? 0 : column); });
  canvas.addEventListener("mouseleave", () => look(null));
  canvas.addEventListener("click", (event) => {
    const { x, isTop, row } = under(event);
    if (isTop) return;
    if (x < 22 && rows[row].isFamily) openRow(rows[row]);
    else if (x < left || x > left + room) mapSelect(rows[row].filter);
    else select();
  });
  scroller.addEventListener("scroll", draw, { passive: true });
  canvas.addEventListener("keydown", (event) => {
    const step = event.shiftKey ? 10 : 1, moves = { ArrowUp: [-step, 0], ArrowDown: [step, 0], ArrowLeft: [0, -step], ArrowRight: [0, step], Home: [0, -columns.count], End: [0, columns.count], PageUp: [-10, 0], PageDown: [10, 0] };
    if (moves[event.key]) {
      look((at?.row ?? 0) + (at ? moves[event.key][0] : 0), (at?.column ?? 0) + (at ? moves[event.key][1] : 0));
      const y = tops[at.row] - scroller.scrollTop;
      if (y < 0 || y > shownHigh - MAP_ROW) scroller.scrollTop = tops[at.row] - (y < 0 ? 0 : shownHigh - MAP_ROW);
    } else if (event.key === "Enter") select();
    else if (event.key === "Escape") look(null);
    else if (["+", "-"].includes(event.key) && at && rows[at.row].isFamily && rows[at.row].isOpen === (event.key === "-")) openRow(rows[at.row]);
    else return;
    event.preventDefault();
  });
  draw();
  const asSvg = () => {
    const few = rows.slice(0, 400), whole = svgPen(width, MAP_TOP + sum(few.map(highOf)));
    few.forEach((row, one) => drawRow(whole, row, MAP_TOP + tops[one], false));
    drawTop(whole);
    return whole.picture;
  };
  const bar = el("canvas", { width: 256, height: 1, "aria-hidden": "true" });
  lut().forEach((colour, index) => { const one = bar.getContext("2d"); one.fillStyle = css(colour); one.fillRect(index, 0, 1, 1); });
  const scale = el("p", { class: "scale" }, "each cell: 0", bar, `${text(most)} (linear)`, pixels < columns.count ? `; ${Math.ceil(columns.count / pixels)} ${columns.areHosts ? "hosts" : "ranks"} share a pixel: the one with the most is shown` : "");
  return { element: el("div", { class: "map-picture" }, scroller, scale, readout, right ? opLegend(new Set(rows.flatMap((row) => [...row.filled().byOp.keys()]))) : null), asSvg };
};
