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

// As much of a text as has room in a picture, measured in the size of most pictures.
const measure = document.createElement("canvas").getContext("2d");
const fit = (text, room, size = 12.5) => {
  if (!fit.font) fit.font = measure.font = `12.5px ${getComputedStyle(document.body).fontFamily}`;
  const wide = (shown) => (measure.measureText(shown).width * size) / 12.5;
  if (wide(text) <= room) return text;
  // Both ends stay: names made alike differ at their ends.
  let kept = Math.min(text.length - 1, Math.ceil(room / 3));
  const shown = () => `${text.slice(0, Math.ceil(0.65 * kept))}…${text.slice(text.length - Math.floor(0.35 * kept))}`;
  while (kept > 2 && wide(shown()) > room) kept--;
  return shown();
};
// Bars of parts, one below the other: { label, parts: [[colour, value, title]], text, go }.
const bars = (rows, { label, width = 1100, labelWidth = Math.round(Math.min(420, 0.32 * width)), noteWidth = Math.min(220, Math.round(0.3 * width)) }) => {
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
const roomOf = (body) => Math.max(300, Math.min(2400, widths.get(body) || 1100));
// Choices of a view, which are in the fragment too.
const picker = (key, label, items, otherwise) => {
  const value = option(key, otherwise);
  const select = el("select", { name: key, onchange: () => go({ [key]: select.value === otherwise ? [] : [select.value] }) },
    items.map(([item, text]) => el("option", { value: item, selected: item === value }, text)));
  return el("label", {}, label, select);
};
const tools = (...children) => el("div", { class: "tools" }, children);
const nothing = (text = "Nothing matches the filters.") => el("p", { class: "empty" }, text);
