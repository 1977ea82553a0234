// The map of communicators: what each rank spent in each of them. Families are one row each, and open.
const MAP_MEASURES = [["time_ns", "MPI time"], ["waiting", "waiting, at least"], ["calls", "calls"], ["bytes", "bytes sent and received"]];
const mapText = { time_ns: timeText, waiting: timeText, calls: countText, bytes: bytesText };

// Ranks of each communicator, as runs; of those that the page does not have, the ranks that called something.
const membersOf = once(() => {
  const { members } = data.map, runs = comms.map(() => []);
  for (let at = 0; at < members.rows; at++) runs[members.comm[at]]?.push([members.first[at], members.count[at], members.step[at]]);
  return runs;
});
const hasRank = (runs, rank) => runs.some(([first, count, step]) => rank >= first && rank <= first + (count - 1) * step && (rank - first) % step === 0);

// Where a rank stands on the map: by itself, or with all of its host.
const mapColumns = () => {
  const areHosts = data.profile.detail === "node" || (hosts.length > 1 && option("across", "rank") === "host");
  return { count: areHosts ? hosts.length : ranks.rows, areHosts, of: (rank) => { const at = ranks.rank[rank] === rank ? rank : placeOf.get(rank); return at === undefined ? -1 : areHosts ? ranks.host[at] : at; },
    name: (column) => (areHosts ? hosts[column] : `rank ${ranks.rank[column]}`), host: (column) => (areHosts ? hosts[column] : hosts[ranks.host[column]]) };
};

// What the filters leave, but that by communicator: rank, operation and number, in the order of communicators, of which the last one begins at `starts`.
const mapNumbers = (measure) => {
  const isWaiting = measure === "waiting", of = isWaiting ? data.waits?.waits ?? { rows: 0 } : cells;
  const isOn = isWaiting ? ops.map((_, op) => opOn(op)) : kinds.map((kind) => opOn(kind.op) && (base.isBySite ? siteOn(kind.site) : (!on.bucket || on.bucket[kind.bucket]) && (!on.phase || on.phase[kind.phase])));
  const kindOf = isWaiting ? of.op : of.kind, isMeant = isWaiting ? on.rank : (rank) => rank >= 0 && on.block(rank), commOf = isWaiting ? (at) => of.comm[at] : (at) => kinds[of.kind[at]].comm;
  const value = isWaiting ? (at) => of.least_ns[at] : measure === "bytes" ? (at) => of.bytes_sent[at] + of.bytes_recv[at] : (at) => of[measure][at];
  const list = [], starts = new Int32Array(comms.length + 1);
  for (let at = 0; at < of.rows; at++) if (isOn[kindOf[at]] && isMeant(of.rank[at])) { list.push(at); starts[commOf(at) + 1] += 1; }
  for (let comm = 0; comm < comms.length; comm++) starts[comm + 1] += starts[comm];
  const next = starts.slice(), numbers = { starts, rank: new Int32Array(list.length), op: new Int32Array(list.length), value: new Float64Array(list.length) };
  for (const at of list) {
    const to = next[commOf(at)]++;
    numbers.rank[to] = of.rank[at];
    numbers.op[to] = isWaiting ? of.op[at] : kinds[of.kind[at]].op;
    numbers.value[to] = value(at);
  }
  return numbers;
};

// Which columns are members of a row: 0, others below. No filter changes it.
const masks = new Map();
const maskOf = (row, columns) => {
  const key = `${columns.areHosts} ${row.key} ${row.isFamily}`;
  if (!masks.has(key)) {
    const values = new Float64Array(columns.count).fill(-1);
    for (const comm of row.comms) for (const [first, ranks, step] of membersOf()[comm]) for (let at = 0; at < ranks; at++) { const column = columns.of(first + at * step); if (column >= 0) values[column] = 0; }
    masks.set(key, values);
  }
  return masks.get(key);
};
// A row: what it is called, its communicators, and the sum of each column. Columns of ranks that are no members are below 0.
const mapRow = (numbers, columns, isWaiting) => (row) => {
  const values = maskOf(row, columns).slice(), times = new Float64Array(ops.length), block = isWaiting || columns.areHosts ? 1 : blockOf();
  let all = 0;
  for (const comm of row.comms) {
    if (!commOn(comm)) continue;
    for (let at = numbers.starts[comm]; at < numbers.starts[comm + 1]; at++) {
      const value = numbers.value[at], column = columns.of(numbers.rank[at]), wide = block === 1 ? 1 : Math.max(1, Math.min(block, ranks.rows - column));
      all += value;
      times[numbers.op[at]] += value;
      // A block of ranks has one number: each of them its part.
      if (column >= 0) for (let more = 0; more < wide; more++) values[column + more] = Math.max(0, values[column + more]) + value / wide;
    }
  }
  return { ...row, values, all, byOp: new Map(range(ops.length).filter((op) => times[op] > 0).map((op) => [op, times[op]])) };
};

// Families and single communicators, the heaviest first; open ones with their members below.
const mapRows = (numbers, columns, measure) => {
  const weightOf = (list) => { let all = 0; for (const comm of list) for (let at = numbers.starts[comm]; at < numbers.starts[comm + 1]; at++) all += numbers.value[at]; return all; };
  const opened = new Set(wanted.open ?? []), filled = mapRow(numbers, columns, measure === "waiting");
  const groups = data.map.groups.map((group) => ({ ...group, key: comms[group.comms[0]].name, isFamily: group.comms.length > 1, weight: weightOf(group.comms) }))
    .filter((group) => group.weight > 0 || group.comms.some((comm) => !comms[comm].special && membersOf()[comm].length)).sort(descending((group) => group.weight));
  return groups.flatMap((group) => [group, ...(group.isFamily && opened.has(group.key) ? group.comms.map((comm) => ({ comms: [comm], head: titleOf(comms[comm]), about: "", isMember: true, key: comms[comm].name })) : [])])
    .map((row) => ({ ...row, isOpen: opened.has(row.key), filled: once(() => filled(row)), filter: row.isFamily ? { family: [row.key], comm: [] } : { comm: [row.key], family: [] } }));
};
const openRow = (row) => go({ open: row.isOpen ? (wanted.open ?? []).filter((key) => key !== row.key) : [...(wanted.open ?? []), row.key] });
// Selects a row or a communicator; a second time, all.
const mapSelect = (filter) => go(["comm", "family"].every((key) => (wanted[key] ?? []).join() === filter[key].join()) ? { comm: [], family: [] } : filter);

view("map", (body) => {
  if (base.isBySite && !base.areRanksTold) return fill(body, nothing("Call sites are added up over the ranks: take the filter by call site away to see the map."));
  const columns = mapColumns(), measures = MAP_MEASURES.filter(([key]) => key !== "waiting" || (data.waits && !on.bucket && !on.phase && !on.site));
  const measure = measures.some(([key]) => key === option("map", "time_ns")) ? option("map", "time_ns") : "time_ns";
  const rows = mapRows(mapNumbers(measure), columns, measure);
  const text = (value) => mapText[measure](Math.round(value));
  if (!rows.length) return fill(body, nothing());
  const most = Math.max(...rows.map((row) => row.filled().values.reduce((one, other) => Math.max(one, other), 0)), 0);
  const notes = [];
  if (blockOf() > 1 && measure !== "waiting") notes.push(`Numbers are those of blocks of ${blockOf()} ranks: each rank is shown with its part.`);
  const families = rows.filter((row) => row.isFamily);
  const list = () => rows.filter((row) => !row.isFamily || !row.isOpen).flatMap((row) => { const { values } = row.filled(); return range(columns.count).filter((at) => values[at] >= 0).map((at) => ({ row, column: at, value: values[at] })); });
  const csv = [word("communicator", "communicator", (cell) => cell.row.head), word("ranks", "about", (cell) => cell.row.about), word(columns.areHosts ? "host" : "rank", columns.areHosts ? "host" : "rank", (cell) => (columns.areHosts ? columns.name(cell.column) : ranks.rank[cell.column])),
    measure === "time_ns" || measure === "waiting" ? time(measure, measure === "waiting" ? "waiting_s" : "time_s", (cell) => Math.round(cell.value)) : count(measure, measure, (cell) => Math.round(cell.value))];
  const picture = mapPicture({ rows, columns, most, text, width: roomOf(body), label: `Map of ${several(comms.filter((comm) => !comm.special && !comm.others).length, "communicator")}; the heaviest is ${rows[0].head}${rows[0].about ? ` (${rows[0].about})` : ""}` });
  fill(body, tools(picker("map", "colours: ", measures, "time_ns"), hosts.length > 1 && data.profile.detail !== "node" ? picker("across", "across: ", [["rank", "ranks"], ["host", "hosts"]], "rank") : null,
    families.length ? el("button", { type: "button", onclick: () => go({ open: families.every((row) => row.isOpen) ? [] : families.slice(0, 50).map((row) => row.key) }) }, families.every((row) => row.isOpen) ? "Close families" : "Open families") : null, savers("map", picture.asSvg, csv, list)),
    ...notes.map((note) => el("p", { class: "about" }, note)), picture.element,
    folded("map", "Communicators and their ranks as a table", false, () => table("map", "Communicators, what they are to the ranks, and the rank with the most", [
      { title: "communicator", name: "communicator", value: (row) => row.head, text: (row) => link(row.head, row.filter) }, word("role", "role", (row) => row.role ?? ""), word("ranks and origin", "about", (row) => row.about), count("of these", "communicators", (row) => row.comms.length),
      { title: "over all ranks", name: "all", value: (row) => Math.round(row.filled().all), text: (row) => text(row.filled().all), number: true },
      { title: columns.areHosts ? "host with the most" : "rank with the most", name: "most", value: (row) => Math.round(Math.max(0, ...row.filled().values)), text: (row) => { const { values } = row.filled(), at = values.indexOf(Math.max(...values)); return values[at] > 0 ? `${text(values[at])}, ${columns.name(at)}` : "-"; }, number: true }],
    rows.filter((row) => !row.isMember)), true));
});
