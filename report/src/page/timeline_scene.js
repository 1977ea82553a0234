// What a reader looks at: the picture of the timeline, what lies over it, and the numbers of the part that is shown. It stays while filters change.
const looked = { span: null, range: null, row: 0, call: -1 };
let following = 0, counting = 0;
const wholeOf = (shown) => {
  const { begin_ns } = data.timeline.calls, until = data.timeline.until_ns;
  let first = Infinity, last = -Infinity;
  for (const lane of shown.lanes) { first = Math.min(first, begin_ns[shown.list[lane.from]]); last = Math.max(last, shown.reach[lane.to - 1]); }
  const whole = [first, Math.max(last, first + 1)];
  if (until !== null) whole[1] = Math.max(whole[0] + 1, Math.min(whole[1], until));
  return whole;
};
const spanIn = (whole) => {
  const [low, high] = on.window ?? looked.span ?? whole, span = [Math.max(whole[0], low), Math.min(whole[1], high)], isThere = span[1] > span[0];
  if (on.window && isThere) looked.span = span;
  return isThere ? span : whole;
};
const sceneOf = (body, shown) => {
  const { calls } = data.timeline, whole = wholeOf(shown), colouring = option("colour", "op"), text = wanted.find?.join(",") ?? "", isFound = finderOf(text), isShown = new Uint8Array(calls.rows);
  for (const at of shown.list) isShown[at] = 1;
  const scene = { shown, whole, span: spanIn(whole), width: roomOf(body), colouring, text, isShown, palette: paletteOf(colouring, isFound),
    found: isFound ? Array.from(shown.list).filter(isFound).sort((a, b) => calls.begin_ns[a] - calls.begin_ns[b]) : null,
    canvas: el("canvas", { tabindex: 0, role: "application", "aria-roledescription": "timeline" }), over: el("canvas", { "aria-hidden": "true" }), frame: el("div", {}),
    readout: el("output", { class: "readout", "aria-live": "polite" }), note: el("p", { class: "about", "data-note": "arrows" }), numbers: el("div", {}), byRanks: el("div", {}), toRange: el("button", { type: "button", hidden: true }, "Zoom to the range") };
  scene.frame.append(scene.canvas, scene.over);
  scene.canvas.style.maxWidth = scene.over.style.maxWidth = "none";
  Object.assign(scene.canvas.style, { touchAction: "pan-y", cursor: "crosshair" });
  Object.assign(scene.over.style, { position: "absolute", left: 0, top: 0, pointerEvents: "none" });
  Object.assign(scene.frame.style, { position: "relative", width: `${scene.width}px` });
  return scene;
};
const pictureOf = ({ shown, whole, span, width, colouring, isShown, palette }) => {
  const rows = rowsOf(shown.lanes), layout = layOutTrace(rows, width, span, whole);
  return { rows, layout, shown, palette, colouring, place: placesOf(rows), isOn: (at) => isShown[at], isPath: option("path") === "on", key: `${fragment({ ...wanted, window: [], view: undefined })} ${width} ${isDark()}` };
};
const drawScene = (scene) => {
  scene.picture = pictureOf(scene);
  const { all, late, drawn } = drawTrace(canvasPen(scene.canvas, scene.width, scene.picture.layout.height), scene.picture);
  scene.note.textContent = all ? `${several(all, "message")} in view, ${countText(late)} of them late: the receiver waited.${drawn < all ? ` ${countText(drawn)} have arrows${late ? ", those that were waited for longest" : ""}: zoom in for all.` : ""}` : "";
  lookAt(scene);
  tellLater(scene);
};
const lookAt = ({ over, canvas, width, picture }, more = {}) => {
  looked.row = Math.min(looked.row, picture.rows.length - 1);
  drawLook(canvasPen(over, width, picture.layout.height), picture, { call: looked.call, row: document.activeElement === canvas ? looked.row : -1, range: looked.range ?? undefined, ...more });
};
// Numbers follow when the hand rests.
const tellLater = (scene) => { clearTimeout(counting); counting = setTimeout(() => tell(scene), 150); };
const partShown = ({ span }) => looked.range ?? span;
const tell = (scene) => {
  const { canvas, shown, whole, span, numbers, byRanks, toRange } = scene, ranked = partOf(shown, whole).byRank, long = (whole[1] - whole[0]) * ranked.length;
  const share = (key) => percentText(sum(ranked.map((own) => own[key])), long);
  canvas.setAttribute("aria-label", `Timeline of ${several(new Set(ranked.map((own) => own.rank)).size, "rank")} with ${several(shown.list.length, "call")}: ${share("mpi_ns")} in MPI, ${share("wait_ns")} waiting. Shown: ${spanTold(span)}. Arrow keys move, plus and minus zoom.`);
  const [byOp, byRank] = partTables(shown, partShown(scene), looked.range ? "Selected range" : "Visible part");
  fill(numbers, byOp);
  fill(byRanks, byRank);
  toRange.hidden = !looked.range;
};
const spanText = (span) => span.map((ns) => String(Number((ns / 1e9).toFixed(9)))).join(":");
