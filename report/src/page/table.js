// Tables behind the pictures: sorted by any column, and downloaded as they are, with exact numbers.
// A person opens it: text that a spreadsheet would take for a formula, a number or a date gets an apostrophe, as in `--format spreadsheet`.
const asText = (text) => ([...text].length < 2 || /^[\p{L}_/[{<*?]/u.test(text) || /^[1-9]\d{0,8}$/.test(text) ? text : `'${text}`);
const csvField = (value, isNumber) => {
  const plain = value === null || value === undefined ? "" : String(value), text = isNumber ? plain : asText(plain);
  return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
};
const download = (name, columns, rows) => {
  const lines = [columns.map((column) => csvField(column.name ?? column.title))];
  for (const row of rows) lines.push(columns.map((column) => csvField(column.value(row), column.number)));
  saved(`${name}.csv`, "text/csv", ["\ufeff", lines.map((line) => line.join(",")).join("\n") + "\n"]);
};
// How each table was sorted, and which show all rows: kept while filters change.
const tableStates = new Map();
// Columns: { title, name (in CSV), value, text (for people), number }.
const table = (name, caption, columns, rows, { most = 20, sort = null } = {}) => {
  const state = tableStates.get(name) ?? { sort, isDown: true, isWhole: false };
  tableStates.set(name, state);
  const host = el("div", { class: "table", "data-table": name });
  const draw = () => {
    let list = rows;
    if (state.sort !== null && columns[state.sort]) {
      const { value, number } = columns[state.sort];
      const order = (a, b) => (number ? (value(a) ?? -Infinity) - (value(b) ?? -Infinity) : String(value(a) ?? "").localeCompare(String(value(b) ?? "")));
      list = [...rows].sort((a, b) => (state.isDown ? -order(a, b) : order(a, b)));
    }
    const shown = state.isWhole ? list : list.slice(0, most);
    const head = columns.map((column, at) => el("th", { scope: "col", class: column.number && "number", "aria-sort": state.sort === at ? (state.isDown ? "descending" : "ascending") : null },
      el("button", { type: "button", onclick: () => { state.isDown = state.sort === at ? !state.isDown : Boolean(column.number); state.sort = at; draw(); host.querySelectorAll("th button")[at].focus(); } }, column.title)));
    const body = shown.map((row) => el("tr", {}, columns.map((column, at) => {
      const value = column.value(row);
      const text = column.text ? column.text(row) : value === null || value === undefined ? "" : column.number ? countText(value) : String(value);
      const attributes = { class: column.number && "number", "data-column": column.name ?? column.title, "data-value": column.number ? value : null, title: !column.number && typeof text === "string" && text.length > 30 ? text : null };
      return at === 0 ? el("th", { scope: "row", ...attributes }, text) : el("td", attributes, text);
    })));
    const more = rows.length > most ? el("button", { type: "button", onclick: () => { state.isWhole = !state.isWhole; draw(); } },
      state.isWhole ? `Show ${most} rows` : `Show all ${countText(rows.length)} rows`) : null;
    fill(host, 
      el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
        el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, head)), el("tbody", {}, body))),
      tools(more, el("button", { type: "button", "data-csv": name, onclick: () => download(name, columns, list) }, `CSV (${several(rows.length, "row")})`)));
  };
  draw();
  return host;
};
// What was opened stays open while filters change. A large inside is made when it is first shown.
const foldStates = new Map();
const folded = (key, summary, isOpen, make, isLarge = false) => {
  let isMade = false;
  const node = el("details", { open: foldStates.get(key) ?? isOpen, "data-fold": key }, el("summary", {}, summary));
  const show = () => { if (!isMade && (node.open || !isLarge)) { isMade = true; node.append(...[make()].flat(Infinity).filter(Boolean)); } };
  node.addEventListener("toggle", () => { foldStates.set(key, node.open); show(); });
  show();
  return node;
};
const time = (title, name, value) => ({ title, name, value: (row) => value(row) / 1e9, text: (row) => timeText(value(row)), number: true });
const size = (title, name, value) => ({ title, name, value, text: (row) => bytesText(value(row)), number: true });
const count = (title, name, value) => ({ title, name, value, number: true });
const word = (title, name, value, text) => ({ title, name, value, text });
// Goes to what a row is about.
const link = (text, filter) => el("a", { href: `#${fragment({ ...wanted, view: undefined, ...filter })}`, title: text }, cut(text, 70));
