// Calls of every rank over time, with the controls of the picture.
const timelineTools = (scene, act) => {
  const { text, found, toRange } = scene, button = (title, does, name) => el("button", { type: "button", name, onclick: does }, title);
  const input = el("input", { name: "find", size: 16, value: text, placeholder: "Allreduce, s0.1", onchange: () => { looked.call = -1; go({ find: input.value.trim() ? [input.value.trim()] : [] }); }, onkeydown: (event) => { if (event.key === "Enter" && input.value.trim() === text) act.find(event.shiftKey ? -1 : 1); } });
  const box = (name, isOn, does, title) => el("label", {}, el("input", { type: "checkbox", name, checked: isOn, onchange: (event) => does(event.target.checked) }), title);
  const filter = () => go({ window: [spanText(partShown(scene))] });
  toRange.onclick = act.toRange;
  return [tools(picker("colour", "colour ", [["op", "operation"], ["comm", "communicator"], ["state", "working, waiting, moving"]], "op"),
    box("path", option("path") === "on", (isOn) => go({ path: isOn ? ["on"] : [] }), "critical path"),
    el("label", {}, "find ", input), found ? [el("span", { "data-number": "found", "data-value": found.length }, `${several(found.length, "call")} found`), button("Next", () => act.find(1))] : null),
  tools(button("Zoom in", () => act.zoom(1 / 1.5)), button("Zoom out", () => act.zoom(1.5)), button("Whole timeline", () => act.show(scene.whole)), toRange, button("Filter by this range", filter, "range"),
    box("window", Boolean(on.window), (isOn) => (isOn ? filter() : go({ window: [] })), "messages, graph, devices and layers show this part only"))];
};
const timelineAbout = () => {
  const { shown, all, until_ns: until } = data.timeline, ranked = new Set(traced().lanes.map((lane) => lane.rank)).size;
  return `${several(shown, "call")} of ${countText(all)} are in the page${until === null ? "" : `, of all ranks until ${timeText(until)}`}. Gaps are work outside of MPI; orange is waiting. At the right: the time in MPI of each lane.${ranked > MOST_LANES ? ` ${countText(ranked)} ranks are folded: paler where fewer of them are in MPI; click a lane to unfold it.` : ""}`;
};
view("timeline", (body) => {
  const shown = lanesShown();
  if (!shown.lanes.length) return fill(body, nothing());
  const scene = sceneOf(body, shown), act = actionsOf(scene), { canvas, frame, readout, note, numbers, byRanks, colouring } = scene, isPath = option("path") === "on";
  const asSvg = () => { const pen = svgPen(scene.width, scene.picture.layout.height); drawTrace(pen, scene.picture); return pen.picture; };
  fill(body, timelineTools(scene, act), el("p", { class: "about" }, timelineAbout()),
    el("div", { class: "scroll" }, frame), readout, note, colourLegend(colouring, shown),
    savers("timeline", asSvg, callColumns(), () => callsIn(shown, partShown(scene))),
    isPath ? pathWords() : null,
    el("div", { class: "columns" }, numbers, el("div", {}, byRanks, isPath ? pathTable() : null)),
    folded("keys", "Mouse and keys", false, () => el("p", { class: "about" }, TRACE_HELP)),
    folded("timeline", "The calls as a table", false, () => table("timeline", on.window ? "Calls in the window" : "Calls on the timeline", callColumns(), on.window ? callsIn(shown, on.window) : Array.from(shown.list)), true));
  handleTrace(canvas, act);
  canvas.addEventListener("focus", () => lookAt(scene));
  canvas.addEventListener("blur", () => lookAt(scene));
  drawScene(scene);
  tell(scene);
});
