// What calls of the timeline have to do with each other, worked out once: lanes, messages, collective operations, who waited for whom.
// Calls are sorted by rank, thread and begin.
const traced = once(() => {
  const { calls } = data.timeline, lanes = [], laneOf = new Int32Array(calls.rows), end_ns = new Float64Array(calls.rows);
  for (let at = 0; at < calls.rows; at++) {
    const last = lanes.at(-1), rank = calls.rank[at], thread = calls.thread[at];
    if (last?.rank !== rank || last.thread !== thread) lanes.push({ rank, thread, first: at });
    laneOf[at] = lanes.length - 1;
    end_ns[at] = calls.begin_ns[at] + calls.length_ns[at];
  }
  lanes.forEach((lane, at) => { lane.after = lanes[at + 1]?.first ?? calls.rows; lane.hasThreads = lanes[at - 1]?.rank === lane.rank || lanes[at + 1]?.rank === lane.rank; });
  return { lanes, laneOf, end_ns };
});
// Calls of one collective operation: those with one number on one communicator.
const collectivesTraced = once(() => {
  const { calls } = data.timeline, found = new Map();
  for (let at = 0; at < calls.rows; at++) {
    if (!calls.sequence[at]) continue;
    const key = collectiveKey(at);
    if (found.has(key)) found.get(key).push(at);
    else found.set(key, [at]);
  }
  return found;
});
const collectiveKey = (call) => data.timeline.calls.comm[call] * 2 ** 32 + data.timeline.calls.sequence[call];
const collectiveOf = (call) => (data.timeline.calls.sequence[call] ? collectivesTraced().get(collectiveKey(call)) : []);
const isCollectiveWhole = (list) => {
  const { calls } = data.timeline;
  return list.length > 1 && list.length === comms[calls.comm[list[0]]].size && list.every((at) => calls.op[at] === calls.op[list[0]]);
};
const lastOf = (list) => list.reduce((last, at) => (data.timeline.calls.begin_ns[at] > data.timeline.calls.begin_ns[last] ? at : last));
const messagesOf = (call) => { const { messages } = data.timeline, list = []; for (let at = 0; at < messages.rows; at++) if (messages.send[at] === call || messages.receive[at] === call) list.push(at); return list; };

// Wait states, by Scalasca's definitions, as `through waits` has them.
const EXCHANGES = ["barrier", "allreduce", "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw", "reduce_scatter", "reduce_scatter_block"];
const TO_ROOT = ["reduce", "gather", "gatherv"], FROM_ROOT = ["bcast", "scatter", "scatterv"];
const BLOCKING_SENDS = ["send", "ssend", "rsend"], RECEIVES = ["recv", "mrecv", "sendrecv", "sendrecv_replace", "wait", "waitany", "waitall", "waitsome"];
const opsNamed = (names) => Uint8Array.from(ops, (op) => Number(names.includes(bare(op.name))));
// The root of a rooted operation, where it was always the same: the one rank that received, or that sent. Nothing: not known.
const rootsCounted = once(() => {
  const { cells, kinds, block } = counted, toRoot = opsNamed(TO_ROOT), fromRoot = opsNamed(FROM_ROOT), roots = new Map();
  if (block !== 1 || data.cells?.detail !== "rank") return roots;
  for (let at = 0; at < cells.rows; at++) {
    const { comm, op } = kinds[cells.kind[at]];
    if (!(toRoot[op] ? cells.bytes_recv[at] : fromRoot[op] ? cells.bytes_sent[at] : 0)) continue;
    const key = `${comm} ${op}`, rank = cells.rank[at];
    roots.set(key, roots.has(key) && roots.get(key) !== rank ? null : rank);
  }
  return roots;
});
// Of each call: how long it waited, the call that it waited for or that came last (-1: none), and whether its waiting is not known.
const waitsTraced = once(() => {
  const { calls } = data.timeline, wait_ns = new Float64Array(calls.rows), by = new Int32Array(calls.rows).fill(-1), isUnknown = new Uint8Array(calls.rows);
  const waits = { wait_ns, by, isUnknown };
  waitsForMessages(waits);
  for (const list of collectivesTraced().values()) waitsForRanks(waits, list);
  return waits;
});
const waitsForMessages = ({ wait_ns, by }) => {
  const { calls, messages } = data.timeline, { end_ns } = traced(), { begin_ns, op } = calls, sends = opsNamed(BLOCKING_SENDS), receives = opsNamed(RECEIVES);
  // Of several messages that one call received, the latest decided.
  for (let at = 0; at < messages.rows; at++) {
    const send = messages.send[at], receive = messages.receive[at];
    if (by[receive] < 0 || begin_ns[send] > begin_ns[by[receive]]) by[receive] = send;
  }
  for (let at = 0; at < calls.rows; at++) if (by[at] >= 0) wait_ns[at] = Math.max(0, Math.min(begin_ns[by[at]], end_ns[at]) - begin_ns[at]);
  for (let at = 0; at < messages.rows; at++) {
    const send = messages.send[at], receive = messages.receive[at];
    if (!sends[op[send]] || !receives[op[receive]] || end_ns[send] <= begin_ns[receive] || begin_ns[receive] <= begin_ns[send]) continue;
    wait_ns[send] = begin_ns[receive] - begin_ns[send];
    by[send] = receive;
  }
};
const waitsForRanks = ({ wait_ns, by, isUnknown }, list) => {
  const { calls } = data.timeline, { end_ns } = traced(), { begin_ns } = calls, name = bare(ops[calls.op[list[0]]].name);
  const unknown = () => { for (const at of list) isUnknown[at] = 1; };
  const wait = (at, late, until_ns) => { wait_ns[at] = Math.max(0, Math.min(until_ns, end_ns[at]) - begin_ns[at]); if (at !== late) by[at] = late; };
  const isToRoot = TO_ROOT.includes(name);
  if (!isCollectiveWhole(list) || !(isToRoot || EXCHANGES.includes(name) || FROM_ROOT.includes(name))) return unknown();
  const last = lastOf(list);
  if (EXCHANGES.includes(name)) { for (const at of list) wait(at, last, begin_ns[last]); return; }
  const rank = rootsCounted().get(`${calls.comm[list[0]]} ${calls.op[list[0]]}`), root = list.find((at) => calls.rank[at] === rank);
  if (root === undefined) return unknown();
  const others = list.filter((at) => at !== root);
  // Early Reduce ends with the first of the others; what the root cannot end without is the last one.
  if (isToRoot) wait(root, lastOf(others), Math.min(...others.map((at) => begin_ns[at])));
  else for (const at of others) wait(at, root, begin_ns[root]);
};
