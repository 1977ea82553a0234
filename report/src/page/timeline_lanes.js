// Lanes of the picture: one of each rank and thread, or of many ranks one for each host or block, which unfolds.
const MOST_LANES = 128;
const unfolded = new Set();
// Calls that the filters leave, by lane: places in `list`, and in `reach` the latest end so far, to search by.
const lanesShown = () => {
  const { calls } = data.timeline, { lanes, end_ns } = traced(), list = new Int32Array(calls.rows), reach = new Float64Array(calls.rows), shown = [];
  let count = 0;
  for (const { rank, thread, first, after, hasThreads } of lanes) {
    if (!on.rank(rank)) continue;
    const from = count;
    let latest = -Infinity;
    for (let at = first; at < after; at++) {
      if (!commOn(calls.comm[at]) || (on.op && !on.op[calls.op[at]])) continue;
      list[count] = at;
      reach[count++] = latest = Math.max(latest, end_ns[at]);
    }
    if (count > from) shown.push({ rank, thread, hasThreads, from, to: count, number: traced().laneOf[first] });
  }
  return { lanes: shown, list: list.subarray(0, count), reach };
};
// Rows: a lane each, or folded ones, with their own below them where they are unfolded.
const rowsOf = (lanes, depth = 0) => {
  if (lanes.length <= MOST_LANES) return lanes.map((lane) => ({ lanes: [lane], depth, title: lane.hasThreads && lane.thread ? `${lane.rank} t${lane.thread}` : String(lane.rank), name: `rank ${lane.rank}${lane.hasThreads ? `, thread ${lane.thread}` : ""}` }));
  const groups = depth ? null : byHosts(lanes);
  return (groups ?? inBlocks(lanes)).flatMap((group) => {
    const row = { lanes: group.lanes, depth, title: group.title, name: group.name, key: group.name };
    return unfolded.has(row.key) ? [row, ...rowsOf(group.lanes, depth + 1)] : [row];
  });
};
const ranksOf = (lanes) => rangesText([...new Set(lanes.map((lane) => lane.rank))].sort((a, b) => a - b));
const byHosts = (lanes) => {
  const found = new Map();
  for (const lane of lanes) { const host = hostOf(lane.rank); if (!found.has(host)) found.set(host, []); found.get(host).push(lane); }
  if (found.size < 2 || found.size > MOST_LANES) return null;
  const bare = (host) => host.split(".")[0], isClear = new Set([...found.keys()].map(bare)).size === found.size;
  return [...found].map(([host, own]) => ({ lanes: own, title: isClear ? bare(host) : host, name: `host ${host} (ranks ${ranksOf(own)})` }));
};
const inBlocks = (lanes) => {
  const own = [...new Set(lanes.map((lane) => lane.rank))], wide = Math.ceil(own.length / MOST_LANES), blockOfRank = new Map(own.map((rank, at) => [rank, Math.floor(at / wide)]));
  const blocks = range(Math.ceil(own.length / wide)).map(() => []);
  for (const lane of lanes) blocks[blockOfRank.get(lane.rank)].push(lane);
  return blocks.map((list) => ({ lanes: list, title: ranksOf([list[0], list.at(-1)]).replace(",", "-"), name: `ranks ${ranksOf(list)}` }));
};
// The first place in a lane whose call, or one before it, reaches beyond a time.
const firstAt = ({ from, to }, reach, ns) => {
  let low = from, high = to;
  while (low < high) { const middle = (low + high) >> 1; if (reach[middle] < ns) low = middle + 1; else high = middle; }
  return low;
};
// The call of a lane at a time; of calls within each other the inner one. -1: none.
const callAt = (lane, { list, reach }, ns, slack_ns = 0) => {
  const { begin_ns } = data.timeline.calls, { end_ns } = traced();
  let found = -1;
  for (let at = firstAt(lane, reach, ns - slack_ns); at < lane.to && begin_ns[list[at]] <= ns + slack_ns; at++) if (end_ns[list[at]] >= ns - slack_ns) { found = list[at]; if (begin_ns[found] >= ns) break; }
  return found;
};

// Colours of calls: parts(call, add) calls add(from_ns, to_ns, number of the colour); tint(number, level) is paler where few of the lanes have it.
const LEVELS = 8;
const paletteOf = (colouring, isFound) => {
  const { calls } = data.timeline, { end_ns } = traced(), { wait_ns, isUnknown } = waitsTraced();
  const colours = [], numbers = new Map();
  const number = (colour) => { if (!numbers.has(colour)) { numbers.set(colour, colours.length); colours.push(colourOf(colour)); } return numbers.get(colour); };
  const ground = colourOf("--none"), rest = number(mixed(ground, REST, 0.35)), tints = [];
  const tint = (kind, level) => (level >= LEVELS ? colours[kind] : (tints[kind * LEVELS + level] ??= mixed(ground, colours[kind], 0.15 + (0.85 * level) / LEVELS)));
  if (colouring === "state") {
    const [waiting, moving, perhaps] = ["--waiting", "--moving", "--perhaps"].map(number);
    return { colours, tint, parts: (call, add) => {
      const begin = calls.begin_ns[call], until = begin + wait_ns[call];
      if (isFound && !isFound(call)) return add(begin, end_ns[call], rest);
      if (until > begin) add(begin, until, waiting);
      if (end_ns[call] > until || until === begin) add(until, end_ns[call], isUnknown[call] ? perhaps : moving);
    } };
  }
  const known = new Map(), column = colouring === "comm" ? calls.comm : calls.op, colour = colouring === "comm" ? commColour : opColour;
  for (let call = 0; call < calls.rows; call++) if (!known.has(column[call])) known.set(column[call], number(colour(column[call])));
  return { colours, tint, parts: (call, add) => add(calls.begin_ns[call], end_ns[call], isFound && !isFound(call) ? rest : known.get(column[call])) };
};
