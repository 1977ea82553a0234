// The data of the page. Long parts are packed: JSON, bytes, or columns of numbers, deflated, in base64.
const data = JSON.parse(byId("commsee-data").textContent);

const inflate = async (text) => {
  const packed = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

const numbers = (bytes, part) => {
  const columns = { rows: part.rows };
  let at = 0;
  for (const name of part.columns) {
    const isDifference = part.differences.includes(name);
    const column = new Float64Array(part.rows);
    let before = 0;
    for (let row = 0; row < part.rows; row++) {
      let number = 0, factor = 1, byte;
      do {
        byte = bytes[at++];
        number += (byte & 127) * factor;
        factor *= 128;
      } while (byte > 127);
      number = number % 2 ? -(number + 1) / 2 : number / 2;
      column[row] = before = isDifference ? before + number : number;
    }
    columns[name] = column;
  }
  return columns;
};

const opened = async (part) => {
  if (part === null || typeof part !== "object") return part;
  if (typeof part.encoding === "string" && typeof part.data === "string") {
    const bytes = await inflate(part.data);
    if (part.encoding.startsWith("json")) return JSON.parse(new TextDecoder().decode(bytes));
    return part.encoding.startsWith("bytes") ? bytes : numbers(bytes, part);
  }
  // Lists hold numbers and names; only objects hold parts that are packed.
  if (Array.isArray(part)) return part;
  const names = Object.keys(part);
  const parts = await Promise.all(names.map((name) => opened(part[name])));
  names.forEach((name, at) => (part[name] = parts[at]));
  return part;
};

let comms, ops, buckets, phases, families, ranks, hosts, hostOf, placeOf, cells, kinds, counted, byCallSite;

// Names in place of numbers, also for numbers that a damaged profile states.
const unpack = async () => {
  await opened(data);
  const lists = data.lists;
  comms = lists.comms;
  if (lists.other_comms > 0) comms.push({ name: `(${lists.other_comms} others)`, others: lists.other_comms });
  else comms.push({ name: "?", special: true });
  ops = [...lists.ops, { name: "?", class: "?" }];
  buckets = [...lists.buckets, { name: "?", lo: 0, hi: 0 }];
  phases = [...lists.phases, "?"];
  families = lists.families;
  ranks = data.ranks.processes;
  hosts = data.ranks.hosts;
  placeOf = new Map();
  for (let at = 0; at < ranks.rows; at++) placeOf.set(ranks.rank[at], at);
  hostOf = (rank) => hosts[ranks.host[placeOf.get(rank)]] ?? "";
  cells = data.cells?.cells ?? { rows: 0, kind: [], rank: [], calls: [], bytes_sent: [], bytes_recv: [], time_ns: [] };
  const flat = data.cells?.kinds ?? [];
  kinds = [];
  for (let at = 0; at < flat.length; at += 4) {
    kinds.push({ comm: flat[at], op: flat[at + 1], bucket: flat[at + 2], phase: flat[at + 3] });
  }
  comms.forEach((comm, at) => (comm.at = at));
  counted = { cells, kinds, block: data.cells?.block ?? 1, isBySite: false };
  // The same as call sites tell it: without message sizes and phases.
  byCallSite = once(() => {
    const { counts, ranks: areRanksTold } = data.sites, numbers = new Map(), list = [];
    const kind = Array.from(counts.site, (site, at) => {
      const key = `${site} ${counts.comm[at]} ${counts.op[at]}`;
      if (!numbers.has(key)) { numbers.set(key, list.length); list.push({ comm: counts.comm[at], op: counts.op[at], bucket: buckets.length - 1, phase: phases.length - 1, site }); }
      return numbers.get(key);
    });
    return { cells: { ...counts, kind }, kinds: list, block: 1, isBySite: true, areRanksTold };
  });
};
const titleOf = (comm) => (comm.label ? `${comm.name} "${comm.label}"` : comm.name);
const shortOp = (op) => op.name.replace(/^MPI_/, "");
// What all sums are made of: cells, or call sites where the filter names some.
let base;
const baseOf = (isBySite) => { base = isBySite ? byCallSite() : counted; ({ cells, kinds } = base); };
const blockOf = () => base.block;
