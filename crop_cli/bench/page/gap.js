// Gap over time of the runs of one instance.
function gapPlot() {
  const pick = document.getElementById("gap-instance");
  const kind = document.getElementById("gap-bound");
  const ids = Object.keys(DATA.traces).map(Number).sort((a, b) => a - b);
  pick.append(...ids.map((k) => h("option", { value: k }, INSTANCES[k].name)));
  // The instance with most traces says most; of several the largest.
  const worth = (k) => DATA.traces[k].length * 1e9 + INSTANCES[k].nodes * INSTANCES[k].jobs;
  const richest = ids.reduce((a, b) => (worth(b) > worth(a) ? b : a), ids[0]);
  if (ids.length) pick.value = String(richest);
  const solvers = [...new Set(Object.values(DATA.traces).flat().map(([solver]) => solver))].sort((a, b) => a - b);
  const entry = chart("gap", { look: { line: true, marks: true }, solvers, describe: "Gap over time in seconds, one step line per run", draw: (frame) => {
    const at = Number(kind.value);
    const runs = (DATA.traces[pick.value] ?? [])
      .map(([solver, seed, points]) => ({ solver, seed, points: points.filter((p) => p[at] !== null) }))
      .filter((run) => run.points.length);
    if (!runs.length) return empty(frame, ids.length ? "No run here has this bound." : "No run has a trace.");
    const gaps = runs.flatMap((run) => run.points.map((p) => p[at]));
    const least = Math.max(CLOSED, decades(gaps, CLOSED)[0]);
    const closed = gaps.some((v) => v <= CLOSED);
    const floor = closed ? Math.min(CLOSED, least) : least;
    const high = Math.max(floor * 10, decades(gaps)[1]);
    const times = runs.flatMap((run) => run.points.map((p) => Math.max(p[0], 1e-3)));
    const [start, end] = decades(times);
    const { x, y } = axes(frame, {
      height: 340, left: 68,
      x: { label: "seconds since the start", text: powerText, scale: (a, b) => log(start, end, a, b) },
      y: { label: "gap", text: (v) => (closed && v <= CLOSED ? "closed" : percentTick(v)), scale: (a, b) => log(floor, high, a, b) },
    });
    return drawSteps(frame, runs.map((run) => ({
      solver: run.solver,
      points: run.points.map((p) => [x(Math.max(p[0], 1e-3)), y(p[at])]),
      end: x(run.points.at(-1)[0]),
      text: (k) => `${SOLVERS[run.solver].name}, seed ${run.seed}\ngap ${percent(run.points[k][at])} at ${number(run.points[k][0])} s`,
    })));
  } });
  pick.addEventListener("change", entry.render);
  kind.addEventListener("change", entry.render);
}
