// Sums over what the filters leave, made once for all views.
let sums;
const MEASURES = ["calls", "bytes_sent", "bytes_recv", "time_ns"];
const none = (count) => Object.fromEntries(MEASURES.map((key) => [key, new Float64Array(count)]));
const addUp = () => {
  const isOn = kinds.map((kind) => commOn(kind.comm) && opOn(kind.op) && (base.isBySite ? siteOn(kind.site) : (!on.bucket || on.bucket[kind.bucket]) && (!on.phase || on.phase[kind.phase])));
  const byKind = none(kinds.length), rows = [];
  const rankOn = new Map();
  for (let at = 0; at < cells.rows; at++) {
    const kind = cells.kind[at];
    if (!isOn[kind]) continue;
    const rank = cells.rank[at];
    let flag = rankOn.get(rank);
    if (flag === undefined) rankOn.set(rank, (flag = rank < 0 ? !on.ranked || base.isBySite : on.block(rank)));
    if (!flag) continue;
    rows.push(at);
    for (const key of MEASURES) byKind[key][kind] += cells[key][at];
  }
  const byComm = none(comms.length), byOp = none(ops.length);
  kinds.forEach((kind, at) => {
    for (const key of MEASURES) {
      byComm[key][kind.comm] += byKind[key][at];
      byOp[key][kind.op] += byKind[key][at];
    }
  });
  sums = { rows, byKind, byComm, byOp };
};
const totals = () => Object.fromEntries(MEASURES.map((key) => [key, sum(sums.byKind[key])]));
// A family's name without what is the same in all: with its first communicator where another one has it.
const shortTitles = once(() => {
  const heads = new Map(), short = new Map();
  for (const { head } of data.map.groups) heads.set(head, (heads.get(head) ?? 0) + 1);
  for (const { head, comms: [first] } of data.map.groups) short.set(first, heads.get(head) === 1 ? head : `${head} (${comms[first].name}…)`);
  return short;
});
// By communicator, or with those made alike as one: title, members, sums, and time by operation.
const commGroups = (areFamilies) => {
  const groups = new Map();
  const groupOf = (comm) => {
    const family = areFamilies ? comm.family : undefined;
    const key = family === undefined ? `c${comm.at}` : `f${family}`;
    if (!groups.has(key)) {
      const title = family === undefined ? titleOf(comm) : families[family].title;
      const filter = family === undefined ? { comm: [comm.name], family: [] } : { family: [comms[families[family].members[0]].name], comm: [] };
      const short = family === undefined ? title : shortTitles().get(families[family].members[0]) ?? title;
      groups.set(key, { title, short, first: comm, comms: 0, filter, calls: 0, bytes_sent: 0, bytes_recv: 0, time_ns: 0, ops: new Map() });
    }
    return groups.get(key);
  };
  const seen = new Set();
  kinds.forEach((kind, at) => {
    if (!sums.byKind.calls[at]) return;
    const group = groupOf(comms[kind.comm]);
    if (!seen.has(kind.comm)) { seen.add(kind.comm); group.comms += 1; }
    for (const key of MEASURES) group[key] += sums.byKind[key][at];
    group.ops.set(kind.op, (group.ops.get(kind.op) ?? 0) + sums.byKind.time_ns[at]);
  });
  return [...groups.values()].sort((a, b) => b.time_ns - a.time_ns || b.calls - a.calls);
};
// The same groups, each as the rank has it that spends most; nothing where single ranks are not told.
const ofLongest = (groups) => {
  if (base.block !== 1 || data.cells?.detail !== "rank") return null;
  const rowOf = new Map(), byRank = groups.map(() => new Map());
  groups.forEach((group, row) => (group.filter.family.length ? families[group.first.family].members : [group.first.at]).forEach((comm) => rowOf.set(comm, row)));
  for (const at of sums.rows) {
    const { comm, op } = kinds[cells.kind[at]], times = byRank[rowOf.get(comm)], rank = cells.rank[at];
    if (!times) continue;
    if (!times.has(rank)) times.set(rank, { rank, time_ns: 0, ops: new Map() });
    const own = times.get(rank);
    own.time_ns += cells.time_ns[at];
    own.ops.set(op, (own.ops.get(op) ?? 0) + cells.time_ns[at]);
  }
  const longest = (times) => [...times.values()].reduce((most, one) => (one.time_ns > most.time_ns ? one : most), { rank: -1, time_ns: 0, ops: new Map() });
  return groups.map((group, row) => ({ ...group, ...longest(byRank[row]) }));
};
// Waiting of what the filters leave, by rank: at least, and at most.
const waiting = () => {
  const byRank = new Map();
  const waits = data.waits?.waits;
  if (!waits || on.bucket || on.phase || on.site) return byRank;
  for (let at = 0; at < waits.rows; at++) {
    if (!commOn(waits.comm[at]) || !opOn(waits.op[at]) || !on.rank(waits.rank[at])) continue;
    const [least, most] = byRank.get(waits.rank[at]) ?? [0, 0];
    byRank.set(waits.rank[at], [least + waits.least_ns[at], most + waits.least_ns[at] + waits.more_ns[at]]);
  }
  return byRank;
};
