// The patterns of communicators that are meant, as the terminal names them, of the whole run.
const MOST_PATTERNS = 4;
const patternGroups = () => {
  const groups = new Map();
  for (const { comm, pattern, bytes, all, unexpected, missing } of data.matrix?.patterns ?? []) {
    const { family, at } = comms[comm], key = family === undefined ? `c${at}` : `f${family} ${pattern}`;
    if (!groups.has(key)) groups.set(key, { title: family === undefined ? titleOf(comms[comm]) : families[family].title, first: comms[comm], comms: [], pattern, bytes: 0, all: 0, unexpected: 0, missing: 0 });
    const group = groups.get(key);
    group.comms.push(comm);
    group.bytes += bytes;
    group.all += all;
    group.unexpected += unexpected;
    group.missing += missing;
  }
  return [...groups.values()].sort(descending(({ bytes }) => bytes));
};
const patternLines = () => {
  const groups = patternGroups(), known = groups.filter(({ comms: of }) => of.some(commOn)), all = sum(groups.map((group) => group.all));
  const misfits = ({ unexpected, missing }) => `${unexpected ? `, ${several(unexpected, "unexpected pair")}` : ""}${missing ? `, ${several(missing, "missing pair")}` : ""}`;
  const line = (one) => el("p", { class: "selected", "data-pattern": one.pattern }, link(one.title, one.first.family === undefined ? { comm: [one.first.name] } : { family: [one.first.name] }), ": ", el("b", {}, one.pattern), `, ${percentText(one.bytes, all)} of the bytes${misfits(one)}`);
  return [...known.slice(0, MOST_PATTERNS).map(line), known.length > MOST_PATTERNS ? el("p", { class: "about" }, `${several(known.length - MOST_PATTERNS, "more pattern")}: through traffic --patterns.`) : null];
};
// Why there is no matrix.
const noMatrix = () => {
  const collectives = kinds.reduce((all, kind, at) => all + (ops[kind.op].class === "collective" ? sums.byKind.calls[at] : 0), 0);
  return el("p", { class: "empty" }, `No messages between ranks: the program has no point-to-point, neighborhood or one-sided communication that sends data${collectives ? `, and in its ${several(collectives, "call")} of collectives the MPI library decides who sends to whom` : ""}. `,
    "Record what goes between ranks below MPI: ", el("code", {}, "through run --hooks ucx -- …"), ".");
};
