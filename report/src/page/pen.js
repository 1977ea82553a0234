// Draws the same on a canvas and as SVG: large pictures are looked at on a canvas, and saved as lines and letters that can be made larger.
// Colours are names of the style ("--ink") or colours; lengths are CSS pixels.
const colourOf = (colour) => (colour.startsWith("--") ? getComputedStyle(document.documentElement).getPropertyValue(colour).trim() : colour);
const canvasPen = (canvas, width, height) => {
  const scale = Math.min(3, devicePixelRatio || 1), context = canvas.getContext("2d"), known = new Map();
  const own = (colour) => { if (!known.has(colour)) known.set(colour, colourOf(colour)); return known.get(colour); };
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return {
    rect: (x, y, wide, high, colour) => { context.fillStyle = own(colour); context.fillRect(x, y, wide, high); },
    frame: (x, y, wide, high, colour, thick = 1) => { context.strokeStyle = own(colour); context.lineWidth = thick; context.strokeRect(x, y, wide, high); },
    line: (points, colour, { thick = 1, opacity = 1, dash = [] } = {}) => {
      context.strokeStyle = own(colour);
      context.lineWidth = thick;
      context.globalAlpha = opacity;
      context.setLineDash(dash);
      context.beginPath();
      points.forEach(([x, y], at) => (at ? context.lineTo(x, y) : context.moveTo(x, y)));
      context.stroke();
      context.setLineDash([]);
      context.globalAlpha = 1;
    },
    text: (x, y, text, colour = "--ink", { anchor = "start", size = 12, bold = false } = {}) => {
      context.fillStyle = own(colour);
      context.font = `${bold ? "600 " : ""}${size}px ${getComputedStyle(document.body).fontFamily}`;
      context.textAlign = { start: "left", middle: "center", end: "right" }[anchor];
      context.fillText(text, x, y);
    },
    clip: (x, y, wide, high, draw) => { context.save(); context.beginPath(); context.rect(x, y, wide, high); context.clip(); draw(); context.restore(); },
  };
};
// `picture` is the finished element.
const svgPen = (width, height) => {
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height });
  let into = picture;
  return {
    picture,
    rect: (x, y, wide, high, colour) => into.append(svg("rect", { x, y, width: Math.max(0, wide), height: Math.max(0, high), fill: colourOf(colour) })),
    frame: (x, y, wide, high, colour, thick = 1) => into.append(svg("rect", { x, y, width: wide, height: high, fill: "none", stroke: colourOf(colour), "stroke-width": thick })),
    line: (points, colour, { thick = 1, opacity = 1, dash = [] } = {}) => into.append(svg("polyline", { points: points.map((point) => point.join(",")).join(" "), fill: "none", stroke: colourOf(colour), "stroke-width": thick, "stroke-opacity": opacity, "stroke-dasharray": dash.join(" ") || null })),
    text: (x, y, text, colour = "--ink", { anchor = "start", size = 12, bold = false } = {}) => into.append(svg("text", { x, y, fill: colourOf(colour), "text-anchor": anchor, "font-size": size, "font-weight": bold ? 600 : null, "font-family": "sans-serif" }, text)),
    // An inner picture shows no more than its own part.
    clip: (x, y, wide, high, draw) => {
      const part = svg("svg", { x, y, width: wide, height: high, viewBox: `${x} ${y} ${wide} ${high}` }), outer = into;
      into.append(part);
      into = part;
      draw();
      into = outer;
    },
  };
};
