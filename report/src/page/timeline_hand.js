// Mouse and keyboard of the timeline. `act` is what they can do: zoom, move, show, select, look, unfold, find, step.
const handleTrace = (canvas, act) => {
  const pointer = (event) => {
    const box = canvas.getBoundingClientRect(), layout = act.layout(), x = ((event.clientX - box.left) / box.width) * layout.width, y = ((event.clientY - box.top) / box.height) * layout.height;
    const part = (x - layout.left) / layout.room, row = Math.floor((y - LANES_TOP) / layout.high);
    return { x, part, row, isOverview: y < OVERVIEW, isLabel: x < layout.left, ns: layout.span[0] + part * (layout.span[1] - layout.span[0]), whole_ns: layout.whole[0] + part * (layout.whole[1] - layout.whole[0]) };
  };
  // A page must still scroll: the wheel zooms where the picture was clicked, or with a key.
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.shiftKey && document.activeElement !== canvas) return;
    event.preventDefault();
    const turn = event.deltaY || (event.shiftKey ? event.deltaX : 0);
    if (turn) act.zoom(turn > 0 ? 1.3 : 1 / 1.3, pointer(event).ns);
    else act.move(event.deltaX / act.layout().room);
  }, { passive: false });
  let grip = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    grip = { ...pointer(event), isRange: event.shiftKey, isMoved: false };
    if (grip.isOverview && !grip.isLabel) act.centre(grip.whole_ns);
  });
  canvas.addEventListener("pointermove", (event) => {
    const at = pointer(event);
    if (!grip) return act.look(at);
    if (!grip.isMoved && Math.abs(at.x - grip.x) < 3) return;
    grip.isMoved = true;
    if (grip.isOverview) act.centre(at.whole_ns);
    else if (grip.isRange) act.select([grip.ns, at.ns].sort((a, b) => a - b));
    else { act.move(grip.part - at.part); grip.part = at.part; }
  });
  canvas.addEventListener("pointerup", (event) => { const at = pointer(event), was = grip; grip = null; if (was && !was.isMoved && !was.isOverview) act.choose(at); });
  canvas.addEventListener("pointercancel", () => { grip = null; });
  canvas.addEventListener("pointerleave", () => { if (!grip) act.look(null); });
  canvas.addEventListener("dblclick", (event) => { const at = pointer(event); if (!at.isOverview) act.enlarge(at); });
  const keys = {
    ArrowLeft: () => act.move(-0.2), ArrowRight: () => act.move(0.2), ArrowUp: () => act.toRow(-1), ArrowDown: () => act.toRow(1),
    "+": () => act.zoom(1 / 1.5), "=": () => act.zoom(1 / 1.5), "-": () => act.zoom(1.5), Home: () => act.show(act.layout().whole),
    Enter: () => act.enter(), Escape: () => act.leave(), n: () => act.step(1), p: () => act.step(-1), f: () => act.find(1), F: () => act.find(-1),
  };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    keys[event.key]();
    event.preventDefault();
  });
};
const TRACE_HELP = "Drag to move, click and turn the wheel to zoom (Ctrl or Shift and wheel: at once), Shift and drag to select a range, double-click a call to enlarge it. Keys: ← → move, + - zoom, Home all, ↑ ↓ rank, n p next and previous call, Enter enlarge, f find next, Esc leave.";
