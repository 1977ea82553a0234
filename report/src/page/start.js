// Makes elements. Texts of a profile only ever become text nodes and attributes, never markup.
const make = (space) => (tag, attributes = {}, ...children) => {
  const node = space ? document.createElementNS(space, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
};
const el = make(null);
const svg = make("http://www.w3.org/2000/svg");
// Replaces what an element holds; what is nothing is left out.
const fill = (node, ...children) => node.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
const byId = (id) => document.getElementById(id);
const sum = (numbers) => { let all = 0; for (const number of numbers) all += number; return all; };
const descending = (of) => (a, b) => of(b) - of(a);
const range = (count) => Array.from({ length: count }, (_, at) => at);
const once = (make) => { let made; return () => (made ??= make()); };

// Views: each draws itself into its section, again whenever a filter changes.
const views = [];
const view = (name, draw) => views.push({ name, draw });
