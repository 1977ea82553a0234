// Draws everything that a filter has changed, and goes where the address says.
const sectionOf = (name) => document.querySelector(`[data-view="${name}"]`);
// Pictures that a window of the timeline leaves as they are.
const OF_COUNTERS = ["overview", "map", "communicators", "ranks", "sizes", "tree", "sites", "files"];
const refresh = () => {
  wanted = readFragment();
  resolve();
  addUp();
  const focus = document.activeElement, home = focus?.closest?.("[data-view]");
  drawFilters();
  // All widths first: each one asked for after something was drawn would lay the page out anew.
  const shown = views.map(({ name, draw }) => ({ name, draw, body: sectionOf(name).querySelector(".body") })).filter(({ name }) => !sectionOf(name).hidden);
  for (const { body } of shown) widths.set(body, Math.round(body.clientWidth));
  for (const { name, draw, body } of shown) {
    const start = performance.now();
    draw(body);
    if (on.window && OF_COUNTERS.includes(name)) body.prepend(el("p", { class: "about", "data-note": "counters" }, "Of the whole run: counters have no times."));
    performance.measure(name, { start });
  }
  // What had the focus was drawn anew: the control of the same name has it now, or else its view.
  if (home && !home.contains(document.activeElement)) (([...home.querySelectorAll("select, input")].find((one) => one.name && one.name === focus.name)) ?? (focus.tagName === "CANVAS" ? home.querySelector("canvas") : null) ?? home).focus({ preventScroll: true });
  layOut();
  document.documentElement.dataset.state = "drawn";
};
// On wide screens views lie in two columns, each below the shorter one.
const layOut = () => {
  const isWide = matchMedia("screen and (min-width: 1900px)").matches;
  const main = document.querySelector("main"), ends = [0, 0];
  main.classList.toggle("laid", isWide);
  for (const section of main.querySelectorAll(":scope > section:not([hidden])")) {
    if (!isWide) { section.style.gridArea = ""; continue; }
    const isFull = getComputedStyle(section).getPropertyValue("--full").trim() === "1";
    const isTop = ["overview", "findings"].includes(section.id);
    const column = isTop ? Number(section.id === "findings") : isFull ? 0 : Number(ends[1] < ends[0]);
    const from = isFull || (!isTop && Math.max(...ends) === 0) ? Math.max(...ends) : ends[column];
    const height = section.offsetHeight;
    const [first, wide] = isTop ? [[1, 7], [8, 5]][column] : isFull ? [1, 12] : [1 + 6 * column, 6];
    section.style.gridArea = `${from + 1} / ${first} / span ${height} / span ${wide}`;
    ends[column] = from + height + 16;
    if (isFull) ends.fill(ends[column]);
    if (section.id === "findings") ends.fill(Math.max(...ends));
  }
};
const visit = () => {
  const name = wanted.view?.[0];
  const section = name && data.views.includes(name) ? sectionOf(name) : null;
  section?.scrollIntoView({ block: "start" });
  section?.focus({ preventScroll: true });
};
const begin = async () => {
  if (typeof DecompressionStream === "undefined") {
    byId("filters").replaceChildren(el("p", { class: "note" }, "This browser cannot open the data of the page: it needs DecompressionStream (Chrome 80, Firefox 113, Safari 16.4 or newer). The findings below are complete."));
    return;
  }
  await unpack();
  refresh();
  visit();
  const sectionSizes = new ResizeObserver(layOut);
  for (const section of document.querySelectorAll("main > section")) sectionSizes.observe(section);
  let width = innerWidth, later = 0;
  addEventListener("resize", () => { if (innerWidth === width) return; width = innerWidth; clearTimeout(later); later = setTimeout(refresh, 150); });
  addEventListener("hashchange", () => { refresh(); visit(); });
  // A link to where one already is still goes there.
  document.addEventListener("click", (event) => { if (event.target.closest?.("nav a, .findings a")) setTimeout(visit); });
  let closed = [];
  // All of the page, or its summary.
  const page = document.documentElement;
  document.querySelector("nav ul").append(el("li", { class: "summary-button" }, el("button", { type: "button", name: "summary", title: "Where the time went, the costliest findings and the map, on one sheet", onclick: () => { page.dataset.print = "summary"; print(); } }, "Print a summary")));
  addEventListener("beforeprint", () => { if (page.dataset.print) return; closed = [...document.querySelectorAll("details:not([open])")]; closed.forEach((node) => (node.open = true)); });
  addEventListener("afterprint", () => { delete page.dataset.print; closed.forEach((node) => (node.open = false)); closed = []; });
};
begin();
