// Data, elements, numbers as text, the tooltip, and which solvers are picked.
const DATA = JSON.parse(document.getElementById("data").textContent);
const SVG_NAMESPACE = document.getElementById("svg-root").namespaceURI;
const { solvers: SOLVERS, instances: INSTANCES } = DATA;

// Rows as objects: six leading values, then the fields that the data names.
const ROWS = DATA.rows.map((cells, index) => {
  const row = { index, instance: cells[0], solver: cells[1], seed: cells[2], verdict: cells[3], stop: cells[4], win: cells[5] };
  DATA.fields.forEach((field, k) => { row[field] = cells[6 + k]; });
  return row;
});

// Text always goes in as text nodes, so that names from data are never parsed.
function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}
const h = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const s = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);

const ABSENT = "–";
function number(value) {
  if (value === null || value === undefined) return ABSENT;
  if (Number.isInteger(value) || Math.abs(value) >= 1e4) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(4)));
}
function ratioText(value) {
  if (value === null || value === undefined) return ABSENT;
  return (value < 1 ? Math.floor(value * 1e4 + 1e-7) / 1e4 : value).toFixed(4);
}
const percent = (share) => (share === null || share === undefined ? ABSENT : `${Number((100 * share).toPrecision(3))} %`.replace("-", "−"));
const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;

const tip = document.getElementById("tip");
function showTip(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.max(4, Math.min(x + 14, document.documentElement.clientWidth - width - 4));
  tip.style.left = `${left}px`;
  tip.style.top = `${y + height + 20 > window.innerHeight ? y - height - 10 : y + 16}px`;
}
const hideTip = () => { tip.hidden = true; };

// Which solvers are picked: those kept by a click, and the one pointed at.
const kept = new Set();
let pointed = null;
function point(solver) {
  if (solver === pointed) return;
  pointed = solver;
  applyPicks();
}
function keep(solver) {
  if (!kept.delete(solver)) kept.add(solver);
  applyPicks();
}
function applyPicks(root = document) {
  const some = kept.size > 0 || pointed !== null;
  for (const element of root.querySelectorAll("[data-s]")) {
    const on = kept.has(Number(element.dataset.s)) || pointed === Number(element.dataset.s);
    element.classList.toggle("on", on);
    element.classList.toggle("off", some && !on);
    if (element.tagName === "BUTTON") element.setAttribute("aria-pressed", String(kept.has(Number(element.dataset.s))));
  }
  document.getElementById("unpin").hidden = kept.size === 0;
}
