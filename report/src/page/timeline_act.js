// What a reader can do in the timeline.
const pixelNs = ({ span, picture }) => (span[1] - span[0]) / picture.layout.room;
const callUnder = (scene, { row, ns }) => { const of = scene.picture.rows[row]; return of && !of.key ? callAt(of.lanes[0], scene.shown, ns, 1.5 * pixelNs(scene)) : -1; };
const foldedText = (scene, row, ns) => {
  const { calls } = data.timeline, busy = row.lanes.map((lane) => callAt(lane, scene.shown, ns, pixelNs(scene) / 2)).filter((at) => at >= 0), names = new Map();
  for (const at of busy) names.set(calls.op[at], (names.get(calls.op[at]) ?? 0) + 1);
  const [most] = [...names].sort(descending(([, times]) => times));
  return `${row.name} at ${timeText(ns)}: ${percentText(busy.length, row.lanes.length)} in MPI${most ? `, most in ${ops[most[0]].name}` : ""}. Click to ${unfolded.has(row.key) ? "fold" : "unfold"}.`;
};
const actionsOf = (scene) => {
  const { calls } = data.timeline, { end_ns, laneOf } = traced(), { shown, whole, readout, canvas } = scene;
  const say = (text) => { readout.textContent = text; };
  const inside = (ns) => Math.round(Math.max(whole[0], Math.min(whole[1], ns)));
  const toCall = (call) => {
    looked.call = call;
    const { span, picture } = scene, row = picture.place[laneOf[call]], half = (span[1] - span[0]) / 2;
    if (row >= 0) looked.row = row;
    if (calls.begin_ns[call] < span[0] || end_ns[call] > span[1]) act.show([calls.begin_ns[call] - half, calls.begin_ns[call] + half]);
    else lookAt(scene);
    say(callText(call));
  };
  const act = {
    layout: () => scene.picture.layout,
    show: ([low, high]) => {
      const wide = Math.round(Math.min(whole[1] - whole[0], Math.max(100, high - low))), from = Math.round(Math.max(whole[0], Math.min(whole[1] - wide, low)));
      scene.span = [from, from + wide];
      looked.span = wide < whole[1] - whole[0] ? scene.span : null;
      drawScene(scene);
      // Other pictures follow when the hand rests.
      if (!on.window) return;
      clearTimeout(following);
      following = setTimeout(() => go({ window: [spanText(scene.span)] }), 300);
    },
    zoom: (factor, middle = (scene.span[0] + scene.span[1]) / 2) => {
      const [low, high] = scene.span, wide = Math.min(whole[1] - whole[0], Math.max(100, (high - low) * factor)), from = middle - (middle - low) * (wide / (high - low));
      act.show([from, from + wide]);
    },
    move: (part) => { const [low, high] = scene.span; act.show([low + part * (high - low), high + part * (high - low)]); },
    centre: (ns) => { const half = (scene.span[1] - scene.span[0]) / 2; act.show([ns - half, ns + half]); },
    select: (range) => { looked.range = range.map(inside); lookAt(scene); tellLater(scene); say(`Selected: ${timeText(looked.range[1] - looked.range[0])} from ${timeText(looked.range[0])}`); },
    toRange: () => { const { range } = looked; looked.range = null; act.show(range); },
    look: (at) => {
      if (!at || at.row < 0 || at.isLabel) { lookAt(scene); return; }
      const call = callUnder(scene, at), row = scene.picture.rows[at.row];
      lookAt(scene, { call: call >= 0 ? call : looked.call, ns: at.ns });
      say(call >= 0 ? callText(call) : !row ? "" : row.key ? foldedText(scene, row, at.ns) : `${row.name} at ${timeText(at.ns)}: work`);
    },
    choose: (at) => {
      const row = scene.picture.rows[at.row];
      if (!row) return;
      looked.row = at.row;
      looked.range = null;
      if (row.key) return act.fold(row);
      looked.call = callUnder(scene, at);
      lookAt(scene);
      tell(scene);
    },
    fold: (row) => { if (!unfolded.delete(row.key)) unfolded.add(row.key); drawScene(scene); },
    enlarge: (at) => {
      const call = callUnder(scene, at);
      if (call < 0) return act.zoom(1 / 3, at.ns);
      const edge = Math.max(10, calls.length_ns[call] * 0.15);
      act.show([calls.begin_ns[call] - edge, end_ns[call] + edge]);
    },
    toRow: (step) => { const { rows } = scene.picture; looked.row = Math.max(0, Math.min(rows.length - 1, looked.row + step)); lookAt(scene); say(rows[looked.row].name); },
    step: (way) => {
      const row = scene.picture.rows[looked.row], [lane] = row.lanes, { list } = shown;
      if (row.key) return act.fold(row);
      const here = looked.call >= 0 && laneOf[looked.call] === lane.number ? list.subarray(lane.from, lane.to).indexOf(looked.call) : -1;
      const at = here >= 0 ? lane.from + here + way : firstAt(lane, shown.reach, scene.span[0]);
      if (at >= lane.from && at < lane.to) toCall(list[at]);
    },
    enter: () => {
      const row = scene.picture.rows[looked.row];
      if (row.key) return act.fold(row);
      if (looked.call >= 0) act.enlarge({ row: scene.picture.place[laneOf[looked.call]], ns: calls.begin_ns[looked.call] });
    },
    leave: () => { looked.call = -1; looked.range = null; lookAt(scene); tell(scene); say(""); canvas.blur(); },
    find: (way) => {
      const { found, text, span } = scene;
      if (!found?.length) return say(text ? `No call matches “${text}”.` : "Type an operation or a communicator to find.");
      const here = found.indexOf(looked.call), next = here >= 0 ? (here + way + found.length) % found.length : Math.max(0, found.findIndex((at) => calls.begin_ns[at] >= span[0]));
      toCall(found[next]);
      say(`${countText(next + 1)} of ${countText(found.length)}: ${callText(found[next])}`);
    },
  };
  return act;
};
