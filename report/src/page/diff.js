// What changed from the first profile to the last one, and all runs by the size of communicators.
// Bars to the right and to the left, with whole labels: the bars have the room that these leave.
const changeBars = (shown, { title, signed, width: room, label }) => {
  const height = 22, wideOf = (text) => { fit("", 0); return measure.measureText(text).width; }, notes = shown.map((entry) => `${signed(entry.delta_rank_s)}${entry.reason ? `, ${entry.reason}` : ""}`);
  const [labelWidth, noteWidth] = [shown.map(title), notes].map((texts) => Math.ceil(Math.max(0, ...texts.map(wideOf))) + 12), half = Math.max(60, Math.min(280, (room - labelWidth - noteWidth) / 2));
  const width = labelWidth + 2 * half + noteWidth, middle = labelWidth + half, most = Math.max(...shown.map((entry) => Math.abs(entry.delta_rank_s)), 1e-30);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${Math.max(1, shown.length) * height}`, width, role: "img", "aria-label": label });
  shown.forEach((entry, at) => {
    const length = (Math.abs(entry.delta_rank_s) / most) * half, isMore = entry.delta_rank_s > 0;
    picture.append(svg("text", { x: labelWidth - 8, y: at * height + 15, "text-anchor": "end" }, title(entry)),
      svg("rect", { x: isMore ? middle : middle - length, y: at * height + 3, width: length, height: height - 6, fill: isMore ? "var(--waiting)" : "var(--moving)" }, tip(`${title(entry)}: ${signed(entry.delta_rank_s)}`)),
      svg("text", { x: middle + half + 8, y: at * height + 15, class: "soft" }, notes[at]));
  });
  picture.append(svg("line", { x1: middle, x2: middle, y1: 0, y2: shown.length * height, class: "line" }));
  return el("div", { class: "scroll" }, picture);
};
view("diff", (body) => {
  const { runs, entries, pairs, layers, delta_rank_s: delta, run_time_s: [before, after] } = data.diff;
  const signed = (seconds) => `${seconds > 0 ? "+" : ""}${secondsText(seconds)}`;
  const named = (entry) => [...new Set(entry.comms.filter(Boolean))].join(" = ") + (entry.label ? ` "${entry.label}"` : "");
  const title = (entry) => (entry.op ? `${entry.op} on ${named(entry)}` : `time ${entry.what}`);
  const isMeant = (entry) => on.isAll || ((!on.op || ops.some((op, at) => on.op[at] && op.name === entry.op)) && (!on.comm || comms.some((comm, at) => on.comm[at] && comm.name === entry.comms[0])));
  const list = entries.filter(isMeant);
  const shown = list.slice(0, 16), picture = changeBars(shown, { title, signed, width: Math.min(1500, roomOf(body)), label: `Change of the ledger by entry; in all ${signed(delta)} of the ranks' time${shown.length ? `, most in ${title(shown[0])}: ${signed(shown[0].delta_rank_s)}` : ""}` });
  const side = Math.min(1024, ranks.rows), values = new Float64Array(side * side), changes = pairs.changes;
  const block = Math.max(1, Math.ceil(ranks.rows / 1024));
  for (let at = 0; at < changes.rows; at++) {
    const from = placeOf.get(changes.src[at]), to = placeOf.get(changes.dst[at]);
    if (from !== undefined && to !== undefined) values[Math.floor(from / block) * side + Math.floor(to / block)] += changes.bytes_b[at] - changes.bytes_a[at];
  }
  const paths = new Map(apart(runs.map((run) => run.path), 40).map((text, at) => [runs[at].path, text]));
  const sizes_ = values.map(Math.abs);
  const sizes = runs.flatMap((run) => { const bySize = new Map(); for (const [size, op, s] of run.sizes) { if (!bySize.has(size)) bySize.set(size, []); bySize.get(size).push([op, s]); } return [...bySize].map(([size, parts]) => ({ run, size, parts })); });
  const changeColumns = [word("what", "what", (entry) => title(entry)), { title: "change", name: "delta_rank_s", value: (entry) => entry.delta_rank_s, text: (entry) => signed(entry.delta_rank_s), number: true },
    ...["ranks", "calls", "bytes", "waiting", "speed"].map((name, at) => ({ title: `by ${name}`, name: `by_${name}_s`, value: (entry) => entry.parts_rank_s[at], text: (entry) => signed(entry.parts_rank_s[at]), number: true })), word("reason", "reason", (entry) => entry.reason ?? ""),
    count("calls before", "calls_a", (entry) => entry.calls[0]), count("after", "calls_b", (entry) => entry.calls[1])];
  const colourOf = (name) => { const at = ops.findIndex((op) => op.name === name); return at < 0 ? REST : opColour(at); };
  fill(body, el("p", { class: "answer" }, `Run time: ${secondsText(before)} → ${secondsText(after)} (${signed(after - before)}, ${percentText(Math.abs(after - before), before)}); time of all ranks: `, el("b", { "data-number": "delta_rank_s", "data-value": delta }, signed(delta)), "."),
    table("runs", "The runs", [word("profile", "path", (run) => run.path), word("command", "command", (run) => run.command ?? ""), count("ranks", "ranks", (run) => run.ranks), { title: "run time", name: "run_time_s", value: (run) => run.run_time_s, text: (run) => secondsText(run.run_time_s), number: true }], runs),
    shown.length ? figure("changes", "What rose (right) and fell (left), in time of all ranks", picture, changeColumns, list) : nothing("Nothing changed in the ledger."),
    table("changes", "Changes of the ledger, the largest first", changeColumns, list, { most: 16 }),
    changes.rows ? el("figure", {}, el("h3", {}, "Bytes between ranks that changed"), el("p", { class: "about" }, pairs.shown < pairs.all ? `The ${countText(pairs.shown)} largest of ${countText(pairs.all)} changes. ` : "", "Colours are the size of the change, of whichever sign."),
      heatMap({ name: "diff", label: "Change of bytes from rank (row) to rank (column)", columns: side, rows: side, values: sizes_, isLog: usualScale(sizes_) === "log", text: bytesText, square: true, columnName: (at) => String(ranks.rank[at * block]), rowName: (at) => String(ranks.rank[at * block]),
        describe: (row, column) => { const value = values[row * side + column]; return `rank ${ranks.rank[row * block]} to rank ${ranks.rank[column * block]}: ${value === 0 ? "no change" : `${value > 0 ? "+" : "-"}${bytesText(Math.abs(value))}`}`; } })) : el("p", { class: "about" }, "No pair of ranks exchanges another number of bytes than before."),
    layers.turns.map((turn) => el("p", { class: "answer", "data-turn": "" }, turn)),
    layers.rows.length ? table("diff-layers", "Layers below MPI, the largest change first", [...["layer", "protocol", "transport"].map((name, at) => word(name, name, (row) => row[at])),
      count("operations before", "calls_a", (row) => row[3][0]), count("after", "calls_b", (row) => row[3][1]), size("bytes before", "bytes_a", (row) => row[4][0]), size("after", "bytes_b", (row) => row[4][1])], layers.rows.filter((row) => !on.route || ["protocol", "transport"].every((key, at) => !wanted[key]?.length || wanted[key].includes(row[at + 1])))) : null,
    sizes.length ? figure("runsizes", "MPI time by the size of the communicator, in every run", bars(sizes.slice(0, 40).map(({ run, size, parts }) => ({ label: `${size ? several(size, "rank") : "?"}, ${paths.get(run.path)}`, text: secondsText(sum(parts.map(([, s]) => s))), parts: parts.map(([op, s]) => [colourOf(op), s, `${op}: ${secondsText(s)}`]) })), { width: Math.min(1100, roomOf(body)), label: "MPI time by the size of the communicator in every run" }),
      [count("size", "size", (row) => row.size), word("run", "path", (row) => row.path), word("operation", "op", (row) => row.op), count("time of all ranks", "rank_s", (row) => row.s)], sizes.flatMap(({ run, size, parts }) => parts.map(([op, s]) => ({ size, path: run.path, op, s }))),
      opLegend([...new Set(sizes.flatMap(({ parts }) => parts.map(([op]) => ops.findIndex((one) => one.name === op))))].filter((at) => at >= 0))) : null);
});
