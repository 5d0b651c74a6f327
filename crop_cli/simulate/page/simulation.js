// Plots of simulations: series over time, and distributions of times.
const everyone = SOLVERS.map((_, k) => k);
const look = { line: true, marks: true };

// One step line per policy over simulated time.
function seriesPlot(id, field, { label, text, most, describe, say }) {
  chart(id, { look, solvers: everyone, describe, draw: (frame) => {
    const latest = Math.max(0, ...DATA.series.flatMap((one) => one.time));
    if (!latest) return empty(frame, "No time passed.");
    const highest = Math.max(most ?? 0, ...DATA.series.flatMap((one) => one[field]));
    const { x, y, box } = axes(frame, { height: 300, x: { label: `simulated time, ${DATA.time_unit}`, text: number, scale: (a, b) => linear(0, latest, a, b) },
      y: { label, text, scale: (a, b) => linear(0, highest || 1, a, b) } });
    const lines = DATA.series.map((one, k) => {
      const points = one.time.map((t, i) => [x(t), y(one[field][i])]);
      return { solver: k, points, end: points.length ? points.at(-1)[0] : box.left, mark: points[Math.floor(points.length * (0.2 + 0.6 * ((k * 0.618) % 1)))],
        text: (i) => `${SOLVERS[k].name}\nafter ${number(one.time[i])} ${DATA.time_unit}: ${say(one[field][i])}` };
    });
    return drawSteps(frame, lines.filter((line) => line.points.length));
  } });
}

// Times as a person would write them.
function timeText(seconds) {
  const [unit, scale] = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]].find(([, one]) => seconds >= 2 * one) ?? ["s", 1];
  return `${number(Number((seconds / scale).toPrecision(3)))} ${unit}`;
}

// Ticks at times that people know; a decade of seconds is not one of them.
const TIMES = [1, 10, 60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400, 365 * 86400, 3650 * 86400];
function timeScale(low, high, from, to) {
  const scale = log(low, high, from, to);
  scale.ticks = TIMES.filter((one) => one >= low * 0.999 && one <= high * 1.001);
  return scale;
}
const TICKS = { 1: "1 s", 60: "1 min", 3600: "1 h", 86400: "1 d", [365 * 86400]: "1 y", [3650 * 86400]: "10 y" };
const timeTick = (v) => TICKS[v] ?? timeText(v);

// One distribution function per policy over a logarithmic axis; what took no time is at its left end.
function distributionPlot(id, label, describe, verb) {
  const given = DATA[id].map((one, k) => ({ ...one, solver: k })).filter((one) => one.x.length);
  chart(id, { look, solvers: everyone, describe, draw: (frame) => {
    if (!given.length) return empty(frame, "No job got that far.");
    const above = given.flatMap((one) => one.x).filter((v) => v >= 1);
    const low = above.length ? TIMES.findLast((one) => one <= Math.min(...above)) : 1;
    const high = 1.1 * Math.max(60 * low, ...above);
    const { x, y, box } = axes(frame, { height: 300, x: { label, text: timeTick, scale: (a, b) => timeScale(low, high, a, b) },
      y: { label: "share of jobs", text: percentTick, scale: (a, b) => linear(0, 1, a, b) } });
    const lines = given.map((one) => {
      const points = [[x(one.x[0]), y(0)], ...one.x.map((v, i) => [x(v), y(one.share[i])])];
      return { solver: one.solver, points, end: box.right, mark: points[Math.floor(points.length * (0.3 + 0.5 * ((one.solver * 0.618) % 1)))],
        text: (i) => `${SOLVERS[one.solver].name}\n${percent(one.share[Math.max(0, i - 1)])} of its jobs ${verb} within ${timeText(one.x[Math.max(0, i - 1)])}` };
    });
    return drawSteps(frame, lines);
  } });
}

seriesPlot("goodput", "goodput", { label: "goodput, GPUs' worth", text: number, most: 0, describe: "Goodput over simulated time, one line per policy", say: (v) => `${number(v)} GPUs' worth` });
seriesPlot("utilisation", "utilisation", { label: "GPUs in use, share of those that are up", text: percentTick, most: 1, describe: "Utilisation over simulated time, one line per policy", say: percent });
seriesPlot("waiting", "waiting", { label: "jobs that wait", text: number, most: 1, describe: "Queue length over simulated time, one line per policy", say: (v) => plural(v, "job") });
distributionPlot("completion", "completion time", "Distribution of completion times, one line per policy", "end");
distributionPlot("queueing", "queueing time (left end: at most)", "Distribution of queueing times, one line per policy", "start");
for (const { canvas } of charts) observer?.observe(canvas);
document.getElementById("unpin").addEventListener("click", () => { kept.clear(); applyPicks(); });
