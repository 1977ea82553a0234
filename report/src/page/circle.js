// Nodes on a circle, those of a host beside each other below an arc with its name, and arrows between them whose width is a quantity.
// nodes: { name, title, host, colour }; links: { from, to, value, title, isDashed } by the places of nodes, the widest last.
const RADIUS = 190;
const arrowHead = (x, y, angle, size, colour) => svg("path", { d: `M0 0l${-size} ${-size / 2.4}v${size / 1.2}z`, fill: colour, transform: `translate(${x} ${y}) rotate(${(angle * 180) / Math.PI})` });
const widthOf = (value, most) => 0.8 + 3.2 * (value / most);
// What widths stand for.
const widthLegend = (most, text) => el("ul", { class: "legend", "data-legend": "widths" }, [1, 0.5, 0.1].map((part) => el("li", {},
  svg("svg", { viewBox: "0 0 34 10", width: 34, height: 10, "aria-hidden": "true" }, svg("line", { x1: 0, x2: 34, y1: 5, y2: 5, stroke: "var(--moving)", "stroke-width": widthOf(part, 1) })), text(most * part))));
const circlePlaces = (nodes, groups) => {
  const gap = groups.length > 1 ? 0.8 : 0, turn = (2 * Math.PI) / (nodes.length + gap * groups.length);
  let at = -(nodes[0] ? 0.5 : 0), before = nodes[0]?.host;
  return nodes.map((node) => { if (node.host !== before) { at += gap; before = node.host; } at += 1; return (at - 0.5) * turn - Math.PI / 2; });
};
const onCircle = ([x, y], radius, angle) => [x + radius * Math.cos(angle), y + radius * Math.sin(angle)];
const anchorAt = (angle) => (Math.abs(Math.cos(angle)) < 0.12 ? "middle" : Math.cos(angle) > 0 ? "start" : "end");
const labelAt = (middle, radius, angle, text) => { const [x, y] = onCircle(middle, radius, angle); return svg("text", { x, y: y + 4 + 4 * Math.sin(angle), "text-anchor": anchorAt(angle) }, text); };
// Of many nodes labels lie along the radius.
const MOST_LEVEL = 32;
const labelAlong = (middle, radius, angle, text) => {
  const [x, y] = onCircle(middle, radius, angle), isLeft = Math.cos(angle) < 0;
  return svg("text", { x, y: y + 4, "text-anchor": isLeft ? "end" : "start", transform: `rotate(${(angle * 180) / Math.PI + (isLeft ? 180 : 0)} ${x} ${y})` }, text);
};
const circleGraph = (nodes, links, { label, name }) => {
  const groups = [...new Set(nodes.map(({ host }) => host).filter((host) => host !== null))], hostNames = apart(groups, 16), hasArcs = groups.length > 1 && groups.length < nodes.length;
  const room = 30 + (hasArcs ? 24 : 0) + 7.5 * Math.max(...(hasArcs ? hostNames : nodes.map(({ name }) => name)).map((text) => text.length));
  const isAlong = nodes.length > MOST_LEVEL, [width, height] = [2 * (RADIUS + room), 2 * (RADIUS + (isAlong ? room : hasArcs ? 60 : 36))], dot = Math.min(7, (0.42 * 2 * Math.PI * RADIUS) / nodes.length), middle = [width / 2, height / 2], angles = circlePlaces(nodes, hasArcs ? groups : []);
  const most = Math.max(...links.map(({ value }) => value), 1e-30);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": label, "data-graph": name });
  if (hasArcs) groups.forEach((host, at) => {
    const own = angles.filter((_, node) => nodes[node].host === host), half = 0.35 * ((2 * Math.PI) / nodes.length), [from, to] = [own[0] - half, own.at(-1) + half];
    const [[x1, y1], [x2, y2]] = [from, to].map((angle) => onCircle(middle, RADIUS + 34, angle));
    picture.append(svg("path", { d: `M${x1} ${y1}A${RADIUS + 34} ${RADIUS + 34} 0 ${Number(to - from > Math.PI)} 1 ${x2} ${y2}`, fill: "none", stroke: hostColour(host), "stroke-width": 5, "data-host": host }, tip(host)), labelAt(middle, RADIUS + 44, (from + to) / 2, hostNames[at]));
  });
  for (const { from, to, value, title, isDashed } of links) {
    const [[x1, y1], [x2, y2]] = [from, to].map((node) => onCircle(middle, RADIUS, angles[node])), wide = widthOf(value, most);
    const [cx, cy] = [(x1 + x2) / 2 + (y2 - y1) * 0.12 + (middle[0] - (x1 + x2) / 2) * 0.3, (y1 + y2) / 2 - (x2 - x1) * 0.12 + (middle[1] - (y1 + y2) / 2) * 0.3];
    // The head touches the node; the line ends within the head.
    const angle = Math.atan2(y2 - cy, x2 - cx), head = 7 + 1.6 * wide, [hx, hy] = [x2 - (dot + 1) * Math.cos(angle), y2 - (dot + 1) * Math.sin(angle)];
    picture.append(svg("g", { "data-from": nodes[from].name, "data-to": nodes[to].name, "stroke-opacity": 0.5 + 0.45 * (value / most), "fill-opacity": 0.5 + 0.5 * (value / most) }, tip(title),
      svg("path", { d: `M${x1} ${y1}Q${cx} ${cy} ${hx - 0.7 * head * Math.cos(angle)} ${hy - 0.7 * head * Math.sin(angle)}`, fill: "none", stroke: "var(--moving)", "stroke-width": wide, "stroke-dasharray": isDashed ? "5 4" : null }), arrowHead(hx, hy, angle, head, "var(--moving)")));
  }
  // Labels that have room: the circle takes 64.
  const step = Math.ceil(nodes.length / 64);
  nodes.forEach(({ name: text, title, colour }, at) => { const [x, y] = onCircle(middle, RADIUS, angles[at]); picture.append(svg("circle", { cx: x, cy: y, r: dot, fill: colour, stroke: "var(--ink)" }, tip(title)), at % step ? "" : (isAlong ? labelAlong : labelAt)(middle, RADIUS + 13, angles[at], text)); });
  return picture;
};
