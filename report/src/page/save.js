// Every picture can be saved: as SVG for a paper, its data as CSV.
const saved = (name, type, parts) => {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = el("a", { href: url, download: `${data.profile.path.replace(/^.*\//, "").replace(/\.db$/, "")}-${name}` });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
};
// A file knows neither the style nor the variables of the page: what they come to is written into each element.
const STYLED = ["fill", "stroke", "font-size", "font-weight", "text-anchor", "opacity"];
const standalone = (picture) => {
  const copy = picture.cloneNode(true), own = [picture, ...picture.querySelectorAll("*")], copies = [copy, ...copy.querySelectorAll("*")];
  if (picture.isConnected) own.forEach((node, at) => {
    const style = getComputedStyle(node);
    for (const name of STYLED) if (node.tagName === "text" || !name.startsWith("font")) copies[at].setAttribute(name, style.getPropertyValue(name));
    copies[at].removeAttribute("class");
  });
  const [, , width, height] = (copy.getAttribute("viewBox") ?? "0 0 0 0").split(" ");
  copy.setAttribute("font-family", "sans-serif");
  copy.prepend(svg("rect", { width, height, fill: colourOf("--ground") }));
  // With its address a picture in a picture would be loaded, which the policy of the page forbids.
  return new XMLSerializer().serializeToString(copy).replaceAll(" data-href=", " href=");
};
// Buttons beside the heading of a picture. `draw` gives the SVG element, drawn anew or the one on the page; columns and rows are those of a table.
const savers = (name, draw, columns, rows) => el("span", { class: "savers" },
  el("button", { type: "button", "data-svg": name, title: "Save this picture as SVG", onclick: () => saved(`${name}.svg`, "image/svg+xml", [standalone(draw())]) }, "SVG"),
  columns ? el("button", { type: "button", "data-csv-of": name, title: "Save its data as CSV", onclick: () => download(name, columns, typeof rows === "function" ? rows() : rows) }, "CSV") : null);
// A picture with its heading, and both buttons beside that.
const figure = (name, caption, picture, columns, rows, ...more) => el("figure", { "data-figure": name },
  el("div", { class: "capped" }, el("figcaption", {}, caption), savers(name, () => (picture.tagName === "svg" ? picture : picture.querySelector("svg")), columns, rows)), picture, ...more);
