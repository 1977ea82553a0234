// Colours that colour-blind readers can tell apart, the same on every page: one palette for operations, one for communicators, and
// style.css has the one for states (working, waiting, moving). Paul Tol, "Colour Schemes", SRON/EPS/TN/09-002: muted and bright; Okabe and Ito for kinds.
const KINDS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"];
const REST = "#8d949c";
const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches && !matchMedia("print").matches;
// What an operation does has a hue; operations of one hue differ in lightness, in this order. On light ground, on dark ground.
const HUES = [
  ["#332288", "#8c7de0", ["allreduce", "reduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"]],
  ["#aa4499", "#cf6fc0", ["alltoall", "alltoallv", "alltoallw"]],
  ["#44aa99", "#44aa99", ["allgather", "gather", "allgatherv", "gatherv"]],
  ["#117733", "#3fa35f", ["bcast", "scatter", "scatterv"]],
  ["#999933", "#b3b34d", ["barrier"]],
  ["#4f9ecb", "#88ccee", ["send", "isend", "sendrecv", "ssend", "bsend", "rsend", "start", "startall"]],
  ["#cc6677", "#dd8591", ["recv", "irecv", "mrecv", "probe", "iprobe", "mprobe"]],
  ["#c4ad45", "#ddcc77", ["waitall", "wait", "waitany", "waitsome", "test", "testall", "testany", "testsome"]],
  ["#882255", "#c05a8c", ["put", "get", "accumulate", "win_fence", "win_flush", "win_lock", "win_unlock", "fetch_and_op"]],
  ["#b5651d", "#d08b4f", ["file_write_at_all", "file_write_at", "file_read_at_all", "file_read_at", "file_open", "file_close"]],
];
const hueOf = (name) => {
  const own = bare(name).replace(/_c$/, "").replace(/_init$/, "").replace(/^neighbor_/, "");
  const place = (word) => { for (const hue of HUES) if (hue[2].includes(word)) return [hue, hue[2].indexOf(word)]; return null; };
  return place(own) ?? place(own.replace(/^i/, "")) ?? (own.startsWith("win_") ? [HUES[8], 4] : own.startsWith("file_") ? [HUES[9], 2] : null);
};
// Of two colours the part between them.
const mixed = (from, to, part) => { const [a, b] = [rgb(from), rgb(to)]; return `#${a.map((one, at) => Math.round(one + (b[at] - one) * part).toString(16).padStart(2, "0")).join("")}`; };
const opColoursKnown = new Map();
const opColour = (op) => {
  const key = isDark() ? -1 - op : op;
  if (!opColoursKnown.has(key)) opColoursKnown.set(key, newOpColour(op));
  return opColoursKnown.get(key);
};
const newOpColour = (op) => {
  const found = hueOf(ops[op]?.name ?? "");
  if (!found) return REST;
  const [[light, dark], place] = found, ground = isDark() ? dark : light;
  return mixed(ground, isDark() ? "#14171b" : "#ffffff", [0, 0.32, 0.55][Math.min(2, place)]);
};
// The operations of a picture and their colours, those that share one as one item.
const opLegend = (used) => {
  const items = new Map();
  for (const op of used) { const colour = opColour(op); items.set(colour, [...(items.get(colour) ?? []), shortOp(ops[op])]); }
  return legend([...items].sort(([a], [b]) => Number(a === REST) - Number(b === REST)).map(([colour, names]) => [colour, colour === REST && names.length > 3 ? "other operations" : names.join(", ")]));
};
const COMMS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377"];
// Of a communicator, or of all that were made alike: the heaviest of the run first, so that filters change no colour.
const commColours = once(() => {
  const times = new Map(), key = (comm) => (comm.family === undefined ? `c${comm.at}` : `f${comm.family}`);
  const { cells, kinds } = counted;
  for (let at = 0; at < cells.rows; at++) { const { comm, op } = kinds[cells.kind[at]]; if (!ops[op].outside) times.set(key(comms[comm]), (times.get(key(comms[comm])) ?? 0) + cells.time_ns[at]); }
  const order = [...times].sort(descending(([, ns]) => ns)).map(([of]) => of);
  return (comm) => COMMS[order.indexOf(key(comm))] ?? REST;
});
const commColour = (at) => commColours()(comms[at]);

// Quantities: the more, the further from the ground. ColorBrewer's YlGnBu without its lightest step.
const QUANTITIES = ["e6f5b2", "c7e9b4", "7fcdbb", "41b6c4", "1d91c0", "225ea8", "253494", "081d58"];
const luts = new Map();
const lut = () => {
  const isTurned = isDark();
  if (!luts.has(isTurned)) {
    const stops = QUANTITIES.map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));
    if (isTurned) stops.reverse();
    luts.set(isTurned, range(256).map((at) => {
      const place = (at / 255) * (stops.length - 1), low = Math.min(Math.floor(place), stops.length - 2), part = place - low;
      return [0, 1, 2].map((channel) => Math.round(stops[low][channel] * (1 - part) + stops[low + 1][channel] * part));
    }));
  }
  return luts.get(isTurned);
};
const shade = (part) => lut()[Math.max(0, Math.min(255, Math.round(part * 255)))];
const css = ([r, g, b]) => `rgb(${r}, ${g}, ${b})`;
const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
// Black or white, whichever is easier to read on it.
const inkOn = ([r, g, b]) => {
  const linear = [r, g, b].map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.179 ? "#000" : "#fff";
};
// Colours of hosts in turn, so that neighbours differ.
const hostColour = (host) => (hosts.length < 2 ? REST : KINDS[hosts.indexOf(host) % KINDS.length] ?? REST);
