// Shapes and dashes of solvers, and the legends.
const DASHES = ["", "7 3", "2 2.5", "9 3 2 3"];
const MARKERS = [
  (r) => `m${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
  (r) => `m${-r} ${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
  (r) => `m0 ${-1.35 * r}l${1.35 * r} ${1.35 * r}l${-1.35 * r} ${1.35 * r}l${-1.35 * r} ${-1.35 * r}z`,
  (r) => `m0 ${-1.2 * r}l${1.2 * r} ${2.1 * r}h${-2.4 * r}z`,
  (r) => `m0 ${1.2 * r}l${1.2 * r} ${-2.1 * r}h${-2.4 * r}z`,
  (r) => `m${-1.2 * r} 0h${2.4 * r}m${-1.2 * r} ${-1.2 * r}v${2.4 * r}`,
  (r) => `m${-r} ${-r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`,
  (r) => `m${-1.3 * r} 0l${0.65 * r} ${-1.1 * r}h${1.3 * r}l${0.65 * r} ${1.1 * r}l${-0.65 * r} ${1.1 * r}h${-1.3 * r}z`,
];
const markPath = (solver, points, r) =>
  points.map(([x, y]) => `M${x.toFixed(1)} ${y.toFixed(1)}${MARKERS[SOLVERS[solver].marker](r)}`).join("");

// A group that carries a solver's colour and takes part in picking.
function seriesGroup(solver) {
  const style = SOLVERS[solver];
  return s("g", { class: `series ${style.baseline ? "baseline" : "own"}`, "data-s": solver, style: `--colour: var(--c${style.colour})` });
}

// The sample of a legend: its line with its dash, its marker, or both.
function sample(solver, { line, marks }) {
  const group = seriesGroup(solver);
  if (line) group.append(s("path", { class: "line", d: "M0 7H26", "stroke-dasharray": DASHES[SOLVERS[solver].dash] }));
  if (marks) group.append(s("path", { class: "marks full", d: markPath(solver, [[13, 7]], 4) }));
  return s("svg", { width: 26, height: 14, viewBox: "0 0 26 14", "aria-hidden": "true" }, group);
}

// One button per solver: its name in text beside its sample.
function legend(element, solvers, look) {
  element.replaceChildren(...solvers.map((k) => h("button", {
    type: "button", class: `chip ${SOLVERS[k].baseline ? "" : "own"}`, "data-s": k, "aria-pressed": "false", title: SOLVERS[k].role,
    onpointerenter: () => point(k), onpointerleave: () => point(null), onfocus: () => point(k), onblur: () => point(null),
    onclick: () => keep(k),
  }, sample(k, look), h("span", {}, SOLVERS[k].name))));
  applyPicks(element);
}
