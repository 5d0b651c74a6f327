// Ratio by solver: a box and a strip of marks per solver.
function quantile(sorted, q) {
  const at = (sorted.length - 1) * q;
  const k = Math.floor(at);
  return sorted[k] + (sorted[Math.min(k + 1, sorted.length - 1)] - sorted[k]) * (at - k);
}
// The same row always gets the same offset.
const jitter = (row) => (((row.index * 2654435761) >>> 8) % 1000) / 1000 - 0.5;

// An axis of ratios on which 0.9, 0.99, 0.999 are evenly apart, up to where a ratio counts as 1.
const AS_ONE = 1e-5;
function stretched(low, from, to) {
  const toGo = log(AS_ONE, Math.max(0.1, 1 - low), to, from);
  const scale = (v) => toGo(1 - v);
  scale.ticks = [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 1].filter((v) => v >= low || v >= 0.9);
  return scale;
}

function ratioPlot() {
  const axis = document.getElementById("ratio-axis");
  const shown = ROWS.filter((row) => row.ratio !== null);
  const mute = SOLVERS.map((_, k) => ROWS.filter((row) => row.solver === k && row.ratio === null && row.verdict !== "infeasible").length);
  const entry = chart("ratio", { describe: "Ratio of every run by solver", draw: (frame) => {
    if (!shown.length) return empty(frame, "No run has a ratio.");
    const lane = 24;
    const longest = Math.max(...SOLVERS.map((one) => [...one.name].length));
    const left = Math.min(longest * TEXT_WIDTH + 14, frame.width * 0.36);
    const low = Math.max(-1, Math.min(0.9, ...shown.map((row) => row.ratio)));
    const high = Math.max(1, ...shown.map((row) => row.ratio));
    const pad = (high - low) * 0.02;
    const tally = mute.some(Boolean) ? 62 : 16;
    const { x, box } = axes(frame, {
      height: SOLVERS.length * lane + 66, left, right: tally,
      x: { label: "ratio: F over the optimum or its least bound", text: (v) => (v === 1 && axis.value !== "even" ? "≥ 1" : number(v)), scale: (a, b) => (axis.value === "even" ? linear(low - pad, high + pad, a, b) : stretched(low, a + 6, b - 6)) },
      y: { label: "", text: String, scale: () => Object.assign((v) => v, { ticks: [] }) },
    });
    if (tally > 16) frame.root.append(s("text", { x: frame.width, y: 12, "text-anchor": "end" }, "no ratio"));
    const points = [];
    SOLVERS.forEach((solver, k) => {
      const middle = box.top + (k + 0.5) * lane;
      const group = seriesGroup(k);
      const letters = [...solver.name];
      const fits = Math.floor((left - 12) / TEXT_WIDTH);
      const name = letters.length > fits ? `${letters.slice(0, fits - 1).join("")}…` : solver.name;
      group.append(s("text", { class: solver.baseline ? "" : "own", x: left - 8, y: middle + 4, "text-anchor": "end" }, s("title", {}, solver.name), name));
      if (mute[k]) group.append(s("text", { x: frame.width, y: middle + 4, "text-anchor": "end" }, `${mute[k]}`));
      const rows = shown.filter((row) => row.solver === k);
      const sorted = rows.map((row) => row.ratio).sort((a, b) => a - b);
      let median = "";
      if (sorted.length) {
        const [q1, q2, q3] = [0.25, 0.5, 0.75].map((q) => x(quantile(sorted, q)));
        group.append(s("rect", { class: "box", x: q1, y: middle - 8, width: Math.max(1, q3 - q1), height: 16 }));
        median = s("line", { class: "median", x1: q2, x2: q2, y1: middle - 9, y2: middle + 9 });
      }
      const [full, hollow] = [[], []];
      for (const row of rows) {
        const p = { x: x(row.ratio), y: middle + jitter(row) * 11, solver: k, text: () => runText(row, `ratio ${ratioText(row.ratio)}`) };
        points.push(p);
        (row.verdict === "overbooked" ? hollow : full).push([p.x, p.y]);
      }
      const [radius, many] = rows.length > 60 ? [2, "many"] : [2.6, ""];
      group.append(s("path", { class: `marks full ${many}`, d: markPath(k, full, radius) }), s("path", { class: `marks ${many}`, d: markPath(k, hollow, radius) }), median);
      frame.root.append(group);
    });
    return nearest(points);
  } });
  axis.addEventListener("change", entry.render);
}
const runText = (row, text) =>
  `${SOLVERS[row.solver].name}\n${INSTANCES[row.instance].name}, seed ${row.seed}\n${text}${row.verdict === "overbooked" ? ", uplinks overbooked" : ""}`;
