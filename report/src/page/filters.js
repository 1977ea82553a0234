// What is looked at. It is in the fragment of the address, so that a link shows the same to others.
const FILTERS = ["comm", "family", "op", "class", "rank", "host", "bucket", "phase", "site", "function", "transport", "protocol", "window"];
const OPTIONS = ["measure", "scale", "ends", "layer", "by", "what", "zoom", "pattern", "active", "beside", "count", "of", "boxes", "entry", "map", "across", "open", "scaling", "size", "colour", "path", "find"];
let wanted = {}, unknown = [];

const listed = (text) => (text ? text.split(",").map(decodeURIComponent) : []);
const escape = (item) => encodeURIComponent(item).replace(/%20/g, "+").replace(/%2F/g, "/").replace(/%3A/g, ":");
const fragment = (of) => {
  const parts = [];
  for (const key of [...FILTERS, ...OPTIONS, "view"]) {
    if (of[key]?.length) parts.push(`${key}=${of[key].map(escape).join(",")}`);
  }
  return parts.join("&");
};
const readFragment = () => {
  const read = {};
  for (const part of location.hash.replace(/^#/, "").split("&")) {
    const at = part.indexOf("=");
    const key = part.slice(0, at);
    if (at > 0 && [...FILTERS, ...OPTIONS, "view"].includes(key)) {
      try { read[key] = listed(part.slice(at + 1).replace(/\+/g, "%20")); } catch { read[key] = []; }
    }
  }
  return read;
};
const option = (key, otherwise) => wanted[key]?.[0] ?? otherwise;
const go = (changes) => {
  const next = { ...wanted, view: undefined, ...changes };
  const text = fragment(next);
  if (location.hash.replace(/^#/, "") === text) return;
  // A step of the history, which the browser's button takes back.
  history.pushState(null, "", `#${text}`);
  refresh();
};

// Which places of each list are meant, and which ranks.
let on = {};
const picked = (key, list, isMeant) => {
  const items = wanted[key];
  if (!items?.length) return null;
  const flags = new Uint8Array(list.length);
  for (const item of items) {
    let found = false;
    list.forEach((entry, at) => { if (isMeant(entry, item, at)) { flags[at] = 1; found = true; } });
    if (!found) unknown.push(`${key} ${item}`);
  }
  return flags;
};
const bare = (name) => name.toLowerCase().replace(/^mpi_/, "");
const resolve = () => {
  unknown = [];
  on = {};
  on.comm = picked("comm", comms, (comm, item) => comm.name === item || comm.label === item);
  const family = picked("family", comms, (comm, item) => {
    const of = comms.find((other) => other.name === item);
    return of === comm || (of?.family !== undefined && comm.family === of.family);
  });
  if (family) on.comm = on.comm ? on.comm.map((flag, at) => flag & family[at]) : family;
  on.named = picked("op", ops, (op, item) => bare(op.name) === bare(item));
  const ofClass = picked("class", ops, (op, item) => op.class === item);
  on.op = on.named && ofClass ? on.named.map((flag, at) => flag & ofClass[at]) : on.named ?? ofClass;
  on.bucket = picked("bucket", buckets, (bucket, item, at) => bucket.name === item || String(at) === item);
  on.phase = picked("phase", phases, (phase, item) => phase === item || (item === "(none)" && phase === ""));
  const list = wanted.rank?.length ? wanted.rank : null;
  const ranges = list && list.flatMap((item) => {
    const [, low, high] = /^\s*(\d+)\s*(?:-\s*(\d+))?\s*$/.exec(item) ?? [];
    if (low === undefined) { unknown.push(`rank ${item}`); return []; }
    return [[Number(low), Number(high ?? low)]];
  });
  const ofHosts = picked("host", hosts, (host, item) => host === item || host.split(".")[0] === item);
  on.ranked = list || ofHosts ? `${wanted.rank ?? ""} ${wanted.host ?? ""}` : "";
  const meant = on.ranked && new Set(range(ranks.rows).filter((at) => (!ranges || ranges.some(([low, high]) => ranks.rank[at] >= low && ranks.rank[at] <= high)) && (!ofHosts || ofHosts[ranks.host[at]])).map((at) => ranks.rank[at]));
  // How layers moved data.
  const routes = data.layers?.routes ?? [], flags = ["function", "transport", "protocol"].map((key) => picked(key, routes, (route, item) => (route.words[PLACES[key]] || "(none)").toLowerCase() === item.toLowerCase())).filter(Boolean);
  on.route = flags.length ? routes.map((_, at) => flags.every((flag) => flag[at])) : null;
  // Part of the timeline, in seconds.
  const [, low, high] = /^(\d*\.?\d*):(\d*\.?\d*)$/.exec(wanted.window?.[0] ?? "") ?? [];
  on.window = data.timeline && low !== undefined ? [low === "" ? -Infinity : Math.round(low * 1e9), high === "" ? Infinity : Math.round(high * 1e9)] : null;
  if (wanted.window?.length && !on.window) unknown.push(`window ${wanted.window}`);
  // A line, a file or a function: of the innermost frame or of an outer one.
  const patterns = data.sites && wanted.site?.length ? wanted.site.map((item) => item.toLowerCase()) : null;
  on.site = patterns && data.sites.stacks.map((stack) => stack.some((spot) => patterns.some((pattern) => data.sites.spots[spot].some((text) => text?.toLowerCase().includes(pattern)))));
  if (on.site && !on.site.some(Boolean)) unknown.push(`site ${wanted.site.join(", ")}`);
  baseOf(on.site !== null);
  const block = blockOf();
  on.rank = (rank) => !meant || meant.has(rank);
  on.block = (rank) => !meant || range(block).some((more) => meant.has(rank + more));
  on.isAll = !FILTERS.some((key) => wanted[key]?.length);
};
// Where the words of a route are.
const PLACES = { layer: 0, function: 1, protocol: 2, transport: 3 };
const routeOn = (route) => !on.route || on.route[route];
const inWindow = (ns) => !on.window || (ns >= on.window[0] && ns <= on.window[1]);
const siteOn = (site) => !on.site || on.site[site];
const commOn = (at) => !on.comm || on.comm[at] === 1;
// Start and end are outside of the run time: they count where they are asked for by name.
const opOn = (at) => (on.op ? on.op[at] === 1 && (on.named || !ops[at].outside) : !ops[at]?.outside);

const field = (label, control) => el("label", {}, label, control);
const choice = (key, items) => {
  const known = [["", "all"], ...items];
  const value = wanted[key]?.join(",") ?? "";
  if (value && !known.some(([item]) => item === value)) known.push([value, value]);
  const select = el("select", { name: key, onchange: () => go({ [key]: select.value ? [select.value] : [] }) },
    known.map(([item, text]) => el("option", { value: item, selected: item === value }, cut(text, 60))));
  return select;
};
const typed = (key, width, suggestions, hint) => {
  const id = `known-${key}`;
  const input = el("input", { name: key, list: suggestions.length ? id : null, size: width, value: wanted[key]?.join(",") ?? "", placeholder: hint,
    onchange: () => go({ [key]: input.value.split(",").map((item) => item.trim()).filter(Boolean) }) });
  return [input, suggestions.length ? el("datalist", { id }, suggestions.map((item) => el("option", { value: item }))) : null];
};
const heaviestComms = once(() => {
  const times = new Float64Array(comms.length);
  const { cells, kinds } = counted;
  for (let at = 0; at < cells.rows; at++) times[kinds[cells.kind[at]].comm] += cells.time_ns[at];
  return range(comms.length).sort(descending((at) => times[at]));
});
const wordsOfRoutes = (key) => [...new Set((data.layers?.routes ?? []).map((route) => route.words[PLACES[key]]))].filter(Boolean).sort();
const drawFilters = () => {
  const form = byId("filters");
  const focused = form.contains(document.activeElement) ? document.activeElement.name : null;
  const classes = [...new Set(ops.map((op) => op.class))].filter((name) => name && name !== "?").sort();
  const fields = el("div", { class: "fields" },
    field("communicator", typed("comm", 14, heaviestComms().slice(0, 300).map((at) => comms[at].name).filter((name) => name), "all")),
    families.length ? field("made alike", choice("family", families.slice(0, 300).map((family) => [comms[family.members[0]].name, family.title]))) : null,
    field("operation", typed("op", 14, ops.map((op) => op.name).filter((name) => name !== "?").sort(), "all")),
    field("class", choice("class", classes.map((name) => [name, name]))),
    ranks.rows > 1 && data.profile.detail !== "comm" ? field("ranks", typed("rank", 8, [], "0,4-7")) : null,
    hosts.length > 1 ? field("hosts", typed("host", 8, hosts.slice(0, 300), "all")) : null,
    field("message size", choice("bucket", buckets.slice(0, -1).map((bucket) => [bucket.name, `${bucket.name} B`]))),
    phases.length > 2 ? field("phase", choice("phase", phases.slice(0, -1).map((name) => [name || "(none)", name || "(none)"]))) : null,
    data.sites ? field("call site", typed("site", 12, [...new Set(data.sites.stacks.filter((stack) => stack.length).map((stack) => data.sites.spots[stack[0]][0]))].slice(0, 300), "all")) : null,
    ["function", "transport", "protocol"].map((key) => { const words = wordsOfRoutes(key); return words.length ? field(key, typed(key, key === "function" ? 16 : 8, words, "all")) : null; }),
    el("button", { type: "button", name: "reset", onclick: () => go(Object.fromEntries(FILTERS.map((key) => [key, []]))) }, "Reset"));
  const total = totals();
  const number = (key, text) => el("b", { "data-number": key, "data-value": total[key] }, text(total[key]));
  const selected = el("p", { class: "selected", role: "status" }, on.isAll ? "Whole run: " : "Selected: ",
    number("time_ns", timeText), " of MPI time over all ranks in ", number("calls", countText), " calls, ",
    number("bytes_sent", bytesText), " sent and ", number("bytes_recv", bytesText), " received by these calls.");
  const notes = [];
  if (unknown.length) notes.push(`Not in this profile: ${unknown.join(", ")}.`);
  if (on.ranked && blockOf() > 1) notes.push(`Ranks are counted in blocks of ${blockOf()}: blocks with any of them are taken.`);
  if (on.route) notes.push("Function, transport and protocol select what layers did: they apply to layers, devices, and the messages and graph of a layer.");
  if (on.window) notes.push(`Messages, graph, devices and layers show what began from ${secondsText(Math.max(0, on.window[0] / 1e9))} to ${on.window[1] === Infinity ? "the end" : secondsText(on.window[1] / 1e9)} of the timeline. Counters have no times: all other numbers are of the whole run.`);
  if (wanted.site?.length && !data.sites) notes.push("The profile has no call sites: through run --sites records them.");
  if (base.isBySite && (on.bucket || on.phase)) notes.push("Call sites have no message sizes and no phases in a profile: these filters do not apply with one of call sites.");
  if (base.isBySite && on.ranked && !base.areRanksTold) notes.push("Call sites are added up over the ranks: the filter by ranks does not apply.");
  fill(form, fields, selected, ...notes.map((note) => el("p", { class: "note selected" }, note)));
  form.onsubmit = (event) => event.preventDefault();
  if (focused) form.elements[focused]?.focus();
  for (const link of document.querySelectorAll("nav a")) {
    link.href = `#${fragment({ ...wanted, view: [/view=(\w+)/.exec(link.getAttribute("href"))[1]] })}`;
  }
};
