// One instance: its reference, every run, overbooked uplinks, errors, and the placements.
const RUN_COLUMNS = [
  { title: "solver", cell: (row) => SOLVERS[row.solver].name },
  { title: "seed", figure: true, cell: (row) => [String(row.seed), row.seed] },
  { title: "verdict", cell: (row) => row.verdict.replace("_", " ") },
  { title: "ended", cell: (row) => row.stop.replace("_", " ") },
  { title: "F", figure: true, cell: (row) => [number(row.objective), row.objective] },
  { title: "bound", figure: true, cell: (row) => [number(row.bound), row.bound] },
  { title: "ratio", figure: true, cell: (row) => [ratioText(row.ratio), row.ratio] },
  { title: "gap", figure: true, cell: (row) => [percent(row.gap), row.gap] },
  { title: "to\u00a0best", figure: true, hint: "(best value − F)/|best value|", cell: (row) => [percent(row.gap_to_best), row.gap_to_best] },
  { title: "a\u00a0priori", figure: true, hint: "factor guaranteed before the run", cell: (row) => [number(row.guarantee), row.guarantee] },
  { title: "time,\u00a0s", figure: true, cell: (row) => [number(row.seconds), row.seconds] },
  { title: "jobs", figure: true, cell: (row) => [number(row.jobs_placed), row.jobs_placed] },
  { title: "GPUs", figure: true, cell: (row) => [number(row.gpus_used), row.gpus_used] },
  { title: "overhead", figure: true, cell: (row) => [percent(row.overhead), row.overhead] },
  { title: "overhead ratio", figure: true, cell: (row) => [number(row.overhead_ratio), row.overhead_ratio] },
  { title: "throughput, /s", figure: true, hint: "GPU iterations per second", cell: (row) => [number(row.throughput), row.throughput] },
  { title: "failures, /day", figure: true, hint: "expected failures per day that hit a job", cell: (row) => [number(row.failures_per_day), row.failures_per_day] },
  { title: "node blast", figure: true, hint: "weighted goodput lost with the worst node", cell: (row) => [number(row.worst_node_blast), row.worst_node_blast] },
  { title: "switch blast", figure: true, hint: "weighted goodput lost with the worst switch", cell: (row) => [number(row.worst_switch_blast), row.worst_switch_blast] },
  { title: "worst load", figure: true, hint: "of an overbooked uplink", cell: (row) => [percent(row.worst_load), row.worst_load] },
  { title: "peak,\u00a0MiB", figure: true, cell: (row) => [number(row.peak_mib), row.peak_mib] },
];

function openInstance(details) {
  const body = details.querySelector(".body");
  if (body.childElementCount) return;
  const k = Number(details.dataset.instance);
  const rows = ROWS.filter((row) => row.instance === k);
  body.append(...referenceOf(INSTANCES[k]), runsTable(rows), ...overbooked(rows), ...errorsOf(rows), ...placementsOf(k, rows));
}
function referenceOf(one) {
  const facts = [
    ["Best F known", one.value === null ? ABSENT : `${one.value}${one.by ? ` by ${one.by}` : ""}`],
    ["Least bound", one.bound === null ? ABSENT : String(one.bound)],
    ["Optimal?", one.infeasible ? "proven: no placement exists" : one.optimal ? "yes, proven" : one.value && one.bound !== null ? `open, within ${percent((one.bound - one.value) / Math.abs(one.value))}` : "open"],
    ["Of that placement", `overhead ${percent(one.overhead)}, ${number(one.throughput)} GPU iterations per second`],
    ["Known from", one.sources.join(" and ") || ABSENT],
    ["SHA-256", one.sha256.slice(0, 16)],
  ];
  return [
    one.description ? h("p", { class: "note" }, one.description) : null,
    one.contradiction ? h("p", { class: "warning" }, h("strong", {}, "Contradiction. "), one.contradiction) : null,
    h("h4", {}, "Reference"),
    h("dl", { class: "facts" }, facts.map(([label, text]) => h("div", {}, h("dt", {}, label), h("dd", {}, text)))),
  ].filter(Boolean);
}
function runsTable(rows) {
  // Columns in which no run has a figure are left away.
  const used = RUN_COLUMNS.filter((column) => !column.figure || rows.some((row) => column.cell(row)[1] !== null));
  return makeTable(`Runs (${rows.length})`, used, rows.map((row) => h("tr", { class: SOLVERS[row.solver].baseline ? "baseline" : "own" }, used.map((column, at) => {
    const cell = column.cell(row);
    if (column.figure) return h("td", { class: column.title === "F" && row.win ? "figure best" : "figure", "data-v": cell[1] ?? "", title: column.title === "a\u00a0priori" ? DATA.details[row.index]?.holds_for : null }, cell[0]);
    if (!at) return h("th", { scope: "row", "data-v": cell, title: DATA.details[row.index]?.back_end }, cell);
    return h("td", { class: column.title === "verdict" ? `verdict-${row.verdict}` : "" }, cell);
  }))));
}
function overbooked(rows) {
  const found = rows.filter((row) => DATA.details[row.index]?.loads);
  if (!found.length) return [];
  return [h("h4", {}, "Overbooked uplinks"), h("ul", {}, found.map((row) => {
    const loads = DATA.details[row.index].loads;
    const shown = loads.slice(0, 12).map(([name, load]) => `${name} ${percent(load)}`).join(", ");
    return h("li", {}, h("strong", {}, SOLVERS[row.solver].name), ` (seed ${row.seed}): ${shown}${loads.length > 12 ? ` and ${loads.length - 12} more` : ""}`);
  }))];
}
function errorsOf(rows) {
  const found = rows.filter((row) => DATA.details[row.index]?.error);
  if (!found.length) return [];
  return [h("h4", {}, "What went wrong"), h("ul", {}, found.map((row) =>
    h("li", {}, h("strong", {}, SOLVERS[row.solver].name), ` (seed ${row.seed}): ${DATA.details[row.index].error}`)))];
}
function placementsOf(k, rows) {
  const codes = DATA.placements[k];
  const heading = h("h4", {}, "Placement");
  if (!codes) return [heading, h("p", { class: "note" }, DATA.left_out[k] ? `Not drawn: ${DATA.left_out[k]}.` : "No run has a placement.")];
  const options = Object.keys(codes).map(Number).sort((a, b) => a - b).map((solver) => {
    const own = rows.filter((row) => row.solver === solver && row.objective !== null);
    const best = own.reduce((a, b) => (a && a.objective >= b.objective ? a : b), null);
    return { solver, best };
  });
  const text = ({ solver, best }) => `${SOLVERS[solver].name}${best ? `: F ${number(best.objective)}, ratio ${ratioText(best.ratio)}${best.verdict === "overbooked" ? ", overbooked" : ""}` : ""}`;
  const choice = h("select", { class: "choose-placement" }, options.map((one) => h("option", { value: one.solver }, text(one))));
  const place = h("div", {});
  const draw = () => {
    const { solver, best } = options.find((one) => one.solver === Number(choice.value));
    place.replaceChildren(...drawPlacement(DATA.clusters[k], codes[solver], new Map(best ? DATA.details[best.index]?.loads ?? [] : [])));
  };
  choice.addEventListener("change", draw);
  draw();
  return [heading, h("p", { class: "controls" }, h("label", {}, "Placement of ", choice)), place];
}

// Narrow the list of instances to names that contain a text.
function finder() {
  const field = document.getElementById("find");
  const all = [...document.querySelectorAll("details.instance")];
  field.addEventListener("input", () => {
    const text = field.value.trim().toLowerCase();
    let shown = 0;
    for (const one of all) {
      const hit = one.dataset.name.toLowerCase().includes(text);
      one.classList.toggle("hidden", !hit);
      shown += hit;
    }
    for (const set of document.querySelectorAll(".instance-set")) set.classList.toggle("hidden", !set.querySelector("details:not(.hidden)"));
    document.getElementById("found").textContent = text ? `${shown} of ${plural(all.length, "instance")}` : "";
  });
}
