// Who sent how much to whom. MPI's own messages are known by communicator and operation, those of layers by layer.
const sourcesOf = once(() => {
  const of = data.flows?.pairs, found = new Map();
  for (let at = 0; at < (of?.rows ?? 0); at++) {
    const { words, ends } = data.layers.routes[of.route[at]], layer = words[PLACES.layer];
    if (!ends) found.set(of.modelled[at] ? `${layer}~` : layer, `layer ${layer}${of.modelled[at] ? ", modelled" : ""}`);
  }
  return [...(data.matrix ? [["mpi", "MPI messages"]] : []), ...[...found].sort(([a], [b]) => (a < b ? -1 : 1))];
});
// Of filters by routes MPI's messages know nothing.
const usualSource = () => (sourcesOf().find(([layer]) => !on.route || data.layers.routes.some((route, at) => on.route[at] && route.words[PLACES.layer] === layer)) ?? sourcesOf()[0])?.[0];
// Of the whole run, or what began in the window.
const movedPairs = () => (on.window ? { pairs: timed().moved, isTold: true } : { pairs: data.flows?.pairs, isTold: data.flows?.of_calls });
const timed = once(() => {
  const { moved, sent } = data.timeline, ones = (part) => new Float64Array(part.rows).fill(1);
  return { moved: { ...moved, src: moved.rank, dst: moved.peer, calls: ones(moved) }, sent: { ...sent, calls: ones(sent) } };
});
// What layers moved between ranks, as far as the filters leave it.
const flowsOf = (isMeant, isHow = (isModelled) => !isModelled) => {
  const { pairs: of, isTold } = movedPairs(), list = [];
  const ofRoutes = (data.layers?.routes ?? []).map((route, at) => routeOn(at) && isMeant(route));
  for (let at = 0; at < (of?.rows ?? 0); at++) if (ofRoutes[of.route[at]] && isHow(of.modelled?.[at]) && (!on.window || (of.paired[at] && inWindow(of.begin_ns[at]))) && on.rank(of.src[at]) && (!isTold || (commOn(of.comm[at]) && (!on.op || opOn(of.op[at]))))) list.push(at);
  return { list, of };
};
// Pairs that the filters leave: from, to, calls, bytes, and of which communicator and operation.
const pairsOf = (layer) => {
  const isModelled = layer.endsWith("~"), own = layer.replace(/~$/, "");
  if (layer !== "mpi" || !data.matrix) return flowsOf((route) => route.words[PLACES.layer] === own && !route.ends, (how) => Boolean(how) === isModelled);
  const list = [], of = on.window ? timed().sent : data.matrix.edges, dense = on.window ? null : data.matrix.dense;
  for (let at = 0; at < of.rows; at++) if (inWindow(of.begin_ns?.[at]) && commOn(of.comm[at]) && opOn(of.op[at]) && on.rank(of.src[at])) list.push(at);
  return { list, of, dense: dense?.comms.some(commOn) ? dense : null };
};
const level = ({ least, most, levels }, code) => (code === 0 ? 0 : least * (most / least) ** ((code - 1) / (levels - 1)));
// A rounded matrix added up over the ends that it is looked at by: kept while these stay, for it has a million cells.
let planeKept = { key: null };
const planeOf = (dense, key, side, end) => {
  if (planeKept.key === key) return planeKept;
  const ends = Int32Array.from(range(dense.side), (at) => end(dense.block === 1 ? ranks.rank[at] ?? -1 : at * dense.block));
  const isOn = range(dense.side).map((from) => !on.ranked || range(dense.block).some((at) => on.rank(from * dense.block + at)));
  planeKept = { key };
  for (const name of ["calls", "bytes"]) {
    const steps = Float64Array.from(range(256), (code) => level(dense[name], code)), codes = dense[name].cells, sums = new Float64Array(side * side);
    for (let from = 0; from < dense.side; from++) {
      const row = ends[from];
      if (row < 0 || !isOn[from]) continue;
      for (let to = 0, at = from * dense.side; to < dense.side; to++, at++) if (codes[at] > 0 && ends[to] >= 0) sums[row * side + ends[to]] += steps[codes[at]];
    }
    planeKept[name] = sums;
    let all = 0;
    for (let at = 0; at < sums.length; at++) all += sums[at];
    planeKept[`all_${name}`] = all;
  }
  return planeKept;
};
// Memories of hosts and GPUs: of each host its own first; and where the numbers of pairs are among them.
const memoriesOf = () => {
  const known = (on.window ? data.timeline : data.flows).memories, several = new Set(known.map(([host]) => host)).size > 1;
  const all = [...known, ...known.map(([host]) => [host, null])].map(([host, gpu]) => ({ host, gpu, title: several ? `${host} ${gpu ?? "host"}` : gpu ?? "host" }));
  const list = all.filter(({ host, gpu }, at) => all.findIndex((other) => other.host === host && other.gpu === gpu) === at)
    .sort((a, b) => a.host.localeCompare(b.host) || Number(a.gpu !== null) - Number(b.gpu !== null) || (a.gpu ?? "").localeCompare(b.gpu ?? "", "en", { numeric: true }));
  const places = known.map(([host, gpu]) => list.findIndex((memory) => memory.host === host && memory.gpu === gpu));
  return Object.assign(list, { place: (at) => (at < 0 ? -1 : places[at]) });
};
// What formulas say of collectives is no less wanted here: it is marked.
const memoryFlows = () => { const { list, of } = flowsOf(() => true, () => true); return { list: list.filter((at) => of.from_memory[at] >= 0), of }; };
const endsPicker = (memories, usual) => {
  const kinds = [...(sourcesOf().length ? [["rank", "ranks"]] : []), ...(sourcesOf().length && hosts.length > 1 && data.profile.detail === "rank" ? [["host", "hosts"]] : []), ...(memories.length ? [["device", "hosts and GPUs"]] : [])];
  return kinds.length > 1 ? picker("ends", "between ", kinds, usual) : null;
};
// What a picture of a window lacks.
const ofWindow = (layer) => {
  const { moved, sent, until_ns: until } = data.timeline, notes = [];
  if (layer === "mpi" && !sent.rows) notes.push("The timeline holds no messages: only counters have them, which have no times.");
  if (layer.endsWith("~")) notes.push("What formulas say of collectives has no times.");
  else if (layer !== "mpi" && !Array.from(moved.route).some((at) => data.layers.routes[at].words[PLACES.layer] === layer)) notes.push("The timeline holds no operations of this layer: only counters have them, which have no times.");
  if (layer === "mpi" && sent.rows) notes.push("One-sided and partitioned messages and those of neighborhood collectives are not on the timeline.");
  if (until !== null && on.window[1] > until) notes.push(`The page has the timeline until ${timeText(until)} only: report --window puts another part into it.`);
  return notes;
};
