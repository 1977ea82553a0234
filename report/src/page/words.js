// Quantities for people, as `through` writes them.
const scaled = (value, factor, units) => {
  let unit = 0;
  while (Math.abs(value) >= 999.5 && unit + 1 < units.length) { value /= factor; unit++; }
  const size = Math.abs(value);
  const digits = unit === 0 && Number.isInteger(value) ? 0 : size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return `${value.toFixed(digits)} ${units[unit]}`;
};
const bytesText = (value) => (Math.abs(value) < 1024 ? `${value} B` : scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]));
const timeText = (ns) => (ns === 0 ? "0 s" : scaled(ns, 1000, ["ns", "µs", "ms", "s"]));
const secondsText = (s) => timeText(s * 1e9);
const countText = (value) => value.toLocaleString("en", { maximumFractionDigits: 0 });
const percentText = (part, whole) => {
  if (!(whole > 0)) return "-";
  const share = (100 * part) / whole;
  return share > 0 && share < 0.05 ? "<0.1 %" : `${share.toFixed(1)} %`;
};
const several = (count, one, more = `${one}s`) => `${countText(count)} ${count === 1 ? one : more}`;
const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const textOf = { time_ns: timeText, bytes: bytesText, bytes_sent: bytesText, bytes_recv: bytesText, calls: countText };
// `0-3,8` of sorted ranks.
const rangesText = (list) => {
  const parts = [];
  for (const rank of list) {
    const last = parts.at(-1);
    if (last && rank === last[1] + 1) last[1] = rank;
    else parts.push([rank, rank]);
  }
  return parts.map(([a, b]) => (a === b ? `${a}` : `${a}-${b}`)).join(",");
};
