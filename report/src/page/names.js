// Names as short as they stay different from each other: what all end with goes first (the domain of hosts), then what all begin with, then the middle.
const border = /[^\p{L}\p{N}]/u;
const sharedEnd = (names) => {
  const [first] = names;
  let length = 0;
  while (length < first.length && names.every((name) => name.length > length + 1 && name.at(-1 - length) === first.at(-1 - length))) length++;
  // Words are left out whole.
  while (length > 0 && !border.test(first.at(-length))) length--;
  return length;
};
const sharedStart = (names) => {
  const [first] = names;
  let length = 0;
  while (length < first.length && names.every((name) => name.length > length + 1 && name[length] === first[length])) length++;
  while (length > 0 && /\p{N}/u.test(first[length - 1])) length--;
  return length;
};
const apart = (names, most) => {
  const isLong = (list) => list.some((name) => name.length > most);
  let list = names;
  if (new Set(names).size > 1) {
    if (isLong(list)) { const end = sharedEnd([...new Set(list)]); if (end) list = list.map((name) => name.slice(0, -end)); }
    if (isLong(list)) { const start = sharedStart([...new Set(list)]); if (start > 1) list = list.map((name) => `…${name.slice(start)}`); }
  }
  const half = Math.floor((most - 1) / 2), short = list.map((name) => (name.length > most ? `${name.slice(0, half)}…${name.slice(-half)}` : name));
  return new Set(short).size === new Set(names).size ? short : list;
};
