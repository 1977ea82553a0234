// Colours that colour-blind readers can tell apart: Okabe and Ito for kinds, viridis for quantities.
const KINDS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"];
const REST = "#8d949c";
const opColours = once(() => {
  const times = new Float64Array(ops.length);
  { const { cells, kinds } = counted; for (let at = 0; at < cells.rows; at++) { const op = kinds[cells.kind[at]].op; if (!ops[op].outside) times[op] += cells.time_ns[at]; } }
  const calls = data.timeline?.calls;
  if (calls && !counted.cells.rows) for (let at = 0; at < calls.rows; at++) times[calls.op[at]] += calls.length_ns[at];
  const colours = new Map();
  range(ops.length).sort(descending((at) => times[at])).slice(0, KINDS.length).forEach((op, at) => colours.set(op, KINDS[at]));
  return colours;
});
const opColour = (op) => opColours().get(op) ?? REST;
const VIRIDIS = ["440154", "482878", "3e4a89", "31688e", "26828e", "1f9e89", "35b779", "6dcd59", "b4de2c", "fde725"];
const lut = once(() => {
  const stops = VIRIDIS.map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  return range(256).map((at) => {
    const place = (at / 255) * (stops.length - 1), low = Math.min(Math.floor(place), stops.length - 2), part = place - low;
    return [0, 1, 2].map((channel) => Math.round(stops[low][channel] * (1 - part) + stops[low + 1][channel] * part));
  });
});
const shade = (part) => lut()[Math.max(0, Math.min(255, Math.round(part * 255)))];
const css = ([r, g, b]) => `rgb(${r}, ${g}, ${b})`;
const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
// Black or white, whichever is easier to read on it.
const inkOn = ([r, g, b]) => {
  const linear = [r, g, b].map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.179 ? "#000" : "#fff";
};
// Where a quantity lies between the least and the most, on a scale.
const placing = (least, most, isLog) => {
  if (!(most > least)) return () => 1;
  if (!isLog) return (value) => value / most;
  const low = Math.log(least), high = Math.log(most);
  return (value) => (Math.log(value) - low) / (high - low);
};
const swatch = (colour) => { const mark = el("span", { class: "swatch", "aria-hidden": "true" }); mark.style.background = colour; return mark; };
const legend = (items) => el("ul", { class: "legend" }, items.map(([colour, text]) => el("li", {}, swatch(colour), text)));
const tip = (text) => svg("title", {}, text);

// As much of a text as has room in a picture.
const measure = document.createElement("canvas").getContext("2d");
const fit = (text, room) => {
  if (!fit.font) fit.font = measure.font = `12.5px ${getComputedStyle(document.body).fontFamily}`;
  const wide = (shown) => measure.measureText(shown).width;
  if (wide(text) <= room) return text;
  let end = Math.min(text.length, Math.ceil(room / 3));
  while (end > 1 && wide(`${text.slice(0, end)}…`) > room) end--;
  return `${text.slice(0, end)}…`;
};
// Bars of parts, one below the other: { label, parts: [[colour, value, title]], text, go }.
const bars = (rows, { label, width = 1100, labelWidth = Math.round(Math.min(420, 0.32 * width)), noteWidth = 220 }) => {
  const height = 24, most = Math.max(...rows.map((row) => sum(row.parts.map(([, value]) => Math.max(0, value)))), 1e-30);
  const room = Math.max(40, width - labelWidth - noteWidth);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${rows.length * height + 2}`, width, role: "img", "aria-label": label });
  rows.forEach((row, at) => {
    const y = at * height;
    const group = svg("g", row.go ? { class: "click", onclick: row.go } : {});
    group.append(svg("rect", { x: 0, y, width, height, fill: "transparent" }),
      svg("text", { x: labelWidth - 8, y: y + 16, "text-anchor": "end" }, tip(row.label), fit(row.label, labelWidth - 12)));
    let x = labelWidth;
    for (const [colour, value, title] of row.parts) {
      const length = (Math.max(0, value) / most) * room;
      if (length > 0) group.append(svg("rect", { x, y: y + 3, width: Math.max(length, 0.4), height: height - 6, fill: colour }, tip(title)));
      x += length;
    }
    group.append(svg("text", { x: x + 6, y: y + 16, class: "soft" }, row.text ?? ""));
    picture.append(group);
  });
  return el("div", { class: "scroll" }, picture);
};
// What a picture may take of the width of its view, which is laid out before it is drawn.
const widths = new WeakMap();
const roomOf = (body) => Math.max(480, Math.min(2400, widths.get(body) || 1100));
// Choices of a view, which are in the fragment too.
const picker = (key, label, items, otherwise) => {
  const value = option(key, otherwise);
  const select = el("select", { name: key, onchange: () => go({ [key]: select.value === otherwise ? [] : [select.value] }) },
    items.map(([item, text]) => el("option", { value: item, selected: item === value }, text)));
  return el("label", {}, label, select);
};
const tools = (...children) => el("div", { class: "tools" }, children);
const nothing = (text = "Nothing matches the filters.") => el("p", { class: "empty" }, text);
