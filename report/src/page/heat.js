// Colours are linear from 0 where no value is a hundred times another.
const CLOSE = 100;
const rangeOf = (values) => {
  let least = Infinity, most = 0;
  for (let at = 0; at < values.length; at++) { const value = values[at]; if (value > 0) { if (value < least) least = value; if (value > most) most = value; } }
  return [least, most];
};
const usualScale = (values) => { const [least, most] = rangeOf(values); return most < CLOSE * least ? "linear" : "log"; };
const scalePicker = (usual) => picker("scale", "colours ", [["log", "logarithmic"], ["linear", "linear"]], usual);
const colourScale = ([least, most], isLog, text) => {
  const bar = el("canvas", { width: 256, height: 1, "aria-hidden": "true" });
  lut().forEach((colour, index) => { const pen = bar.getContext("2d"); pen.fillStyle = css(colour); pen.fillRect(index, 0, 1, 1); });
  Object.assign(bar.style, { width: "200px", height: "12px" });
  const times = most / least, why = times > 1 ? `: the largest is ${times < 10 ? times.toFixed(1) : countText(Math.round(times))} times the smallest` : "";
  return most > 0 ? el("p", { class: "scale" }, text(isLog ? least : 0), bar, `${text(most)}, ${isLog ? "logarithmic" : "linear"}${why}`) : null;
};
// A heat map on a canvas: one pixel for each cell, which the browser makes larger. Mouse and arrow keys read it; Enter or a click pins a cell.
// values: numbers, row by row; 0 and less is nothing.
const heatMap = ({ name, label, columns, rows, values, isLog, text, columnName, rowName, rowLabels, columnStrip, rowStrip, describe, pin, square }) => {
  const [least, most] = rangeOf(values), place = placing(least, most, isLog);
  const colours = Uint32Array.from(lut(), ([r, g, b]) => (255 << 24) | (b << 16) | (g << 8) | r);
  const canvas = el("canvas", { class: "cells", width: columns, height: rows, tabindex: 0, role: "application", "aria-roledescription": "heat map", "aria-label": `${label}. Arrow keys read single cells${pin ? ", Enter shows what a cell consists of" : ""}.`, "data-heat": name });
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  // A million logarithms are dear: values that agree in 12 bits have one colour, which is worked out once.
  const bits = new Int32Array(new Float32Array(values).buffer);
  const known = new Uint32Array(1 << 19);
  for (let at = 0; at < values.length; at++) {
    if (!(values[at] > 0)) continue;
    const key = bits[at] >>> 12;
    pixels[at] = known[key] ||= colours[Math.max(0, Math.min(255, (place(values[at]) * 255) | 0))];
  }
  context.putImageData(image, 0, 0);
  // Cells of a whole number of pixels where there is room for it.
  const room = square ? 720 : 1000;
  const cellWidth = columns <= room ? Math.max(1, Math.min(square ? 64 : 40, Math.floor((square ? Math.min(room, 480) : room) / columns))) : room / columns;
  const width = columns > room ? Math.min(columns, 1024) : cellWidth * columns;
  const cellHeight = square ? width / columns : Math.max(14, Math.min(22, 400 / rows));
  canvas.style.width = `${width}px`;
  if (square) canvas.style.aspectRatio = `${columns} / ${rows}`;
  else canvas.style.height = `${cellHeight * rows}px`;
  const mark = el("div", { class: "mark", hidden: true });
  const frame = el("div", { class: "frame" }, canvas, mark);
  const readout = el("output", { class: "readout", "aria-live": "polite" }, `${label}.`);
  const pinned = el("div", {});
  let at = null;
  const look = (row, column) => {
    at = [Math.max(0, Math.min(rows - 1, row)), Math.max(0, Math.min(columns - 1, column))];
    readout.textContent = describe(at[0], at[1], values[at[0] * columns + at[1]]);
    const [boxWidth, boxHeight] = [canvas.clientWidth / columns, canvas.clientHeight / rows];
    mark.hidden = false;
    Object.assign(mark.style, { left: `${at[1] * boxWidth}px`, top: `${at[0] * boxHeight}px`, width: `${boxWidth + 2}px`, height: `${boxHeight + 2}px` });
  };
  const choose = () => { if (at && pin) fill(pinned, ...[pin(at[0], at[1])].flat()); };
  const under = (event) => {
    const box = canvas.getBoundingClientRect();
    look(Math.floor(((event.clientY - box.top) / box.height) * rows), Math.floor(((event.clientX - box.left) / box.width) * columns));
  };
  canvas.addEventListener("mousemove", under);
  canvas.addEventListener("click", (event) => { under(event); choose(); });
  canvas.addEventListener("keydown", (event) => {
    const step = event.shiftKey ? 10 : 1;
    const moves = { ArrowUp: [-step, 0], ArrowDown: [step, 0], ArrowLeft: [0, -step], ArrowRight: [0, step], Home: [0, -columns], End: [0, columns], PageUp: [-rows, 0], PageDown: [rows, 0] };
    if (event.key === "Enter") choose();
    else if (event.key === "Escape") { at = null; mark.hidden = true; readout.textContent = `${label}.`; pinned.replaceChildren(); }
    else if (moves[event.key]) look((at?.[0] ?? 0) + (at ? moves[event.key][0] : 0), (at?.[1] ?? 0) + (at ? moves[event.key][1] : 0));
    else return;
    event.preventDefault();
  });
  // In the middle of cells, as many as have room.
  const ticks = (length, of, isRow) => {
    const room = isRow ? 17 : 10 + 7 * Math.max(...[0, length - 1].map((at) => of(at).length), ...range(Math.min(length, 64)).map((at) => of(at).length));
    const steps = Math.max(1, Math.ceil(room / (isRow ? cellHeight : width / columns)));
    const nice = [1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, 128, 200, 256, 500, 512, 1000, 1024].find((step) => step >= steps) ?? steps;
    return range(Math.ceil(length / nice)).map((step) => {
      const span = el("span", {}, of(step * nice));
      span.style[isRow ? "top" : "left"] = `${((step * nice + 0.5) / length) * 100}%`;
      return span;
    });
  };
  const strip = (colourOf, length, isRow) => {
    if (!colourOf) return null;
    const line = el("canvas", { width: isRow ? 1 : length, height: isRow ? length : 1, "aria-hidden": "true" });
    const pen = line.getContext("2d");
    for (let index = 0; index < length; index++) { pen.fillStyle = colourOf(index); pen.fillRect(isRow ? 0 : index, isRow ? index : 0, 1, 1); }
    line.style.imageRendering = "pixelated";
    Object.assign(line.style, isRow ? { width: "6px", height: "100%", position: "absolute", right: 0, top: 0 } : { width: `${width}px`, height: "6px", position: "absolute", left: 0, bottom: 0 });
    return line;
  };
  const left = el("div", { class: "axis left", "aria-hidden": "true" }, rowLabels ? rowLabels.map((rowLabel, row) => {
    const span = el("span", { title: rowLabel }, cut(rowLabel, 34));
    span.style.top = `${((row + 0.5) / rows) * 100}%`;
    return span;
  }) : ticks(rows, rowName, true), strip(rowStrip, rows, true));
  if (rowLabels) left.style.width = `${Math.min(260, 20 + 7 * Math.max(...rowLabels.map((rowLabel) => Math.min(34, rowLabel.length))))}px`;
  else left.style.width = `${16 + 7 * Math.max(4, ...range(Math.min(rows, 64)).map((at) => rowName(at).length))}px`;
  const top = el("div", { class: "axis top", "aria-hidden": "true" }, ticks(columns, columnName, false), strip(columnStrip, columns, false));
  top.style.maxWidth = `${width}px`;
  const names = { row: (at) => rowLabels?.[at] ?? rowName(at), column: columnName };
  const saving = savers(name, () => heatSvg({ columns, rows, values, names, canvas, place, cellWidth: width / columns, cellHeight, legend: `${text(isLog ? least : 0)} to ${text(most)}, ${isLog ? "logarithmic" : "linear"}`, label }),
    [word("row", "row", (cell) => names.row(cell.row)), word("column", "column", (cell) => names.column(cell.column)), count("value", "value", (cell) => cell.value)],
    () => range(values.length).filter((cell) => values[cell] > 0).map((cell) => ({ row: Math.floor(cell / columns), column: cell % columns, value: values[cell] })));
  return el("figure", { "data-figure": name }, el("div", { class: "map" }, top, left, frame), colourScale([least, most], isLog, text), readout, saving, pinned);
};
