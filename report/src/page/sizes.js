// Operation by message size. Each cell says its number; colours follow it. Calls without a size stand first, apart from small messages.
view("sizes", (body) => {
  const measure = option("what", "time_ns");
  const sizes = [{ name: "-", lo: null, hi: null }, ...buckets];
  const rows = new Map();
  kinds.forEach((kind, at) => {
    if (!sums.byKind.calls[at]) return;
    if (!rows.has(kind.op)) rows.set(kind.op, sizes.map(() => ({ calls: 0, bytes_sent: 0, bytes_recv: 0, time_ns: 0 })));
    for (const key of MEASURES) rows.get(kind.op)[ops[kind.op].sized === false ? 0 : kind.bucket + 1][key] += sums.byKind[key][at];
  });
  if (base.isBySite) return fill(body, nothing("Call sites have no message sizes in a profile: take the filter by call site away to see them."));
  if (!rows.size) return fill(body, nothing());
  const of = (cell) => (measure === "bytes" ? cell.bytes_sent + cell.bytes_recv : cell[measure]);
  const list = [...rows].map(([op, cellsOf]) => ({ op, cells: cellsOf, all: sum(cellsOf.map(of)) })).sort(descending((row) => row.all));
  const used = range(sizes.length).filter((bucket) => list.some((row) => row.cells[bucket].calls > 0));
  const known = list.flatMap((row) => used.map((bucket) => of(row.cells[bucket]))).filter((value) => value > 0);
  const place = placing(Math.min(...known), Math.max(...known), true);
  const text = textOf[measure] ?? bytesText;
  const cell = (row, bucket) => {
    const value = of(row.cells[bucket]);
    const node = el("td", { "data-op": ops[row.op].name, "data-bucket": sizes[bucket].name, "data-value": value, title: `${ops[row.op].name}, ${bucket ? `${sizes[bucket].name} B` : "no size"}: ${several(row.cells[bucket].calls, "call")}, ${bytesText(row.cells[bucket].bytes_sent)} sent, ${timeText(row.cells[bucket].time_ns)}` }, row.cells[bucket].calls ? text(value) : "");
    if (value > 0) { const colour = shade(place(value)); node.style.background = css(colour); node.style.color = inkOn(colour); }
    return node;
  };
  const most = 24;
  const totalsOf = used.map((bucket) => ({ bucket, calls: sum(list.map((row) => row.cells[bucket].calls)), bytes_sent: sum(list.map((row) => row.cells[bucket].bytes_sent)), bytes_recv: sum(list.map((row) => row.cells[bucket].bytes_recv)), time_ns: sum(list.map((row) => row.cells[bucket].time_ns)) }));
  fill(body, sizeTimes(body), tools(picker("what", "show ", [["time_ns", "MPI time"], ["calls", "calls of ranks"], ["bytes", "bytes sent and received"]], "time_ns")),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Operations by message size" }, el("table", { class: "heated", "data-heat": "sizes" },
      el("caption", {}, `${measure === "time_ns" ? "MPI time" : measure === "calls" ? "Calls" : "Bytes"} over all ranks, by operation and message size in bytes (colours: logarithmic)`),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "operation"), used.map((bucket) => el("th", { scope: "col", class: "number" }, bucket ? link(sizes[bucket].name, { bucket: [sizes[bucket].name] }) : "no size")))),
      el("tbody", {}, list.slice(0, most).map((row) => el("tr", {}, el("th", { scope: "row" }, link(ops[row.op].name, { op: [ops[row.op].name] })), used.map((bucket) => cell(row, bucket))))))),
    list.length > most ? el("p", { class: "about" }, `${several(list.length - most, "more operation")} in the table below.`) : null,
    folded("sizes", "Sums by message size, and all cells", false, () => [
      table("hist", "By message size", [{ title: "more than", name: "bucket_lo", value: (row) => sizes[row.bucket].lo, text: (row) => (row.bucket ? bytesText(sizes[row.bucket].lo) : "-"), number: true }, { title: "up to", name: "bucket_hi", value: (row) => sizes[row.bucket].hi, text: (row) => (row.bucket ? (sizes[row.bucket].hi === null ? "any" : bytesText(sizes[row.bucket].hi)) : "-"), number: true },
        count("calls of ranks", "calls", (row) => row.calls), size("sent", "bytes_sent", (row) => row.bytes_sent), size("received", "bytes_recv", (row) => row.bytes_recv), time("time", "time_s", (row) => row.time_ns)], totalsOf),
      table("sizes", "By operation and message size", [word("operation", "op", (row) => ops[row.op].name), word("size", "bucket", (row) => sizes[row.bucket].name), count("calls of ranks", "calls", (row) => row.calls), size("sent", "bytes_sent", (row) => row.bytes_sent), size("received", "bytes_recv", (row) => row.bytes_recv), time("time", "time_s", (row) => row.time_ns)],
        list.flatMap((row) => used.filter((bucket) => row.cells[bucket].calls > 0).map((bucket) => ({ op: row.op, bucket, ...row.cells[bucket] }))))]));
});
