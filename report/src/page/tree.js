// The tree of communicators, with sums over each line and what is below it.
view("tree", (body) => {
  const lines = data.tree.map((line) => {
    const members = line.members;
    const of = (key) => sum(members.map((at) => sums.byComm[key][at]));
    return { ...line, first: comms[members[0]] ?? comms.at(-1), own: of("time_ns"), calls: of("calls"), sent: of("bytes_sent"), below: of("time_ns") };
  });
  for (let at = lines.length - 1; at >= 0; at--) if (lines[at].above !== null) lines[lines[at].above].below += lines[at].below;
  const isMeant = (line) => on.isAll || line.calls > 0 || line.below > 0;
  const shown = lines.filter(isMeant);
  const title = ({ count: members, first }) => {
    const creator = (first.creator ?? "").replace(/^MPI_/, "");
    return members === 1 ? `${titleOf(first)}${creator ? `, ${creator}` : ""}` : `${countText(members)} × ${first.label ? `"${first.label}", ` : ""}${creator || "communicator"}, from ${first.name}`;
  };
  const filter = (line) => (line.count > 1 && line.first.family !== undefined ? { family: [line.first.name], comm: [] } : { comm: [line.first.name], family: [] });
  fill(body, shown.length ? table("tree", "Communicators below those that they were made from", [
    { title: "communicator", name: "communicator", value: (line) => title(line), text: (line) => { const node = link(title(line), filter(line)); node.style.paddingInlineStart = `${Math.min(line.depth, 12) * 1.4}em`; return el("span", { role: "text" }, el("span", { class: "unseen" }, `level ${line.depth + 1}: `), node); } },
    count("level", "depth", (line) => line.depth + 1), count("of these", "communicators", (line) => line.count), count("size", "size", (line) => line.first.size ?? null),
    word("ranks", "ranks", (line) => (line.count === 1 ? line.first.ranks ?? "" : "")), word("made at", "made_at", (line) => line.first.site ?? ""),
    time("time", "time_s", (line) => line.own), time("with below", "with_below_s", (line) => line.below), count("calls of ranks", "calls", (line) => line.calls), size("sent", "bytes_sent", (line) => line.sent)],
  shown, { most: 40 }) : nothing());
});
