// A heat map to save: few cells as boxes, many as a picture of one pixel each.
const MOST_BOXES = 64;
const heatSvg = ({ columns, rows, values, names, canvas, place, cellWidth, cellHeight, legend, label }) => {
  const labels = range(rows).map(names.row), left = 16 + 7 * Math.max(...labels.map((text) => text.length)), top = 40, [wide, high] = [Math.max(cellWidth, 1) * columns, Math.max(cellHeight, 1) * rows];
  const pen = svgPen(left + wide + 40, top + high + 30), areBoxes = columns <= MOST_BOXES && rows <= MOST_BOXES;
  pen.text(left, 14, label);
  pen.rect(left, top, wide, high, "--none");
  if (areBoxes) for (let at = 0; at < values.length; at++) if (values[at] > 0) pen.rect(left + (at % columns) * cellWidth, top + Math.floor(at / columns) * cellHeight, cellWidth, cellHeight, css(shade(place(values[at]))));
  const every = (room, of) => Math.max(1, Math.ceil(room / of));
  const [byRow, byColumn] = [every(15, high / rows), every(10 + 7 * Math.max(...[0, columns - 1].map((at) => names.column(at).length)), wide / columns)];
  for (let row = 0; row < rows; row += byRow) pen.text(left - 6, top + ((row + 0.5) * high) / rows + 4, labels[row], "--soft", { anchor: "end" });
  for (let column = 0; column < columns; column += byColumn) pen.text(left + ((column + 0.5) * wide) / columns, top - 6, names.column(column), "--soft", { anchor: "middle" });
  pen.text(left, top + high + 18, legend, "--soft");
  if (!areBoxes) pen.picture.append(svg("image", { x: left, y: top, width: wide, height: high, "data-href": canvas.toDataURL(), preserveAspectRatio: "none", "image-rendering": "pixelated" }));
  return pen.picture;
};
