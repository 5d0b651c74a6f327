// Clouds of runs: time against size, overhead against the reference's.
function cloud(frame, points, radius = 3) {
  for (const k of drawingOrder()) {
    const own = points.filter((p) => p.solver === k);
    if (!own.length) continue;
    const group = seriesGroup(k);
    const path = (hollow) => markPath(k, own.filter((p) => p.hollow === hollow).map((p) => [p.x, p.y]), own.length > 60 ? 2 : radius);
    const many = own.length > 60 ? " many" : "";
    group.append(s("path", { class: `marks full${many}`, d: path(false) }), s("path", { class: `marks${many}`, d: path(true) }));
    frame.root.append(group);
  }
  return nearest(points);
}
const solversOf = (rows) => [...new Set(rows.map((row) => row.solver))].sort((a, b) => a - b);

function timePlot() {
  const pick = document.getElementById("time-size");
  const size = {
    pairs: (one) => one.nodes * one.jobs, nodes: (one) => one.nodes, jobs: (one) => one.jobs,
  };
  const rows = ROWS.filter((row) => row.seconds !== null);
  const seconds = (row) => Math.max(row.seconds, 1e-3);
  const entry = chart("time", { look: { line: true, marks: true }, solvers: solversOf(rows), describe: "Seconds of every run against the instance's size, both logarithmic", draw: (frame) => {
    if (!rows.length) return empty(frame, "No run has a time.");
    const of = (row) => Math.max(1, size[pick.value](INSTANCES[row.instance]));
    const [left, right] = decades(rows.map(of));
    const [low, high] = decades(rows.map(seconds));
    const { x, y } = axes(frame, {
      height: 340, left: 56,
      x: { label: `${pick.selectedOptions[0].textContent} (log)`, text: powerText, scale: (a, b) => log(left, right, a, b) },
      y: { label: "seconds (log)", text: powerText, scale: (a, b) => log(low, high, a, b) },
    });
    const find = cloud(frame, rows.map((row) => ({
      x: x(of(row)), y: y(seconds(row)), solver: row.solver, hollow: row.verdict === "failed",
      text: () => runText(row, `${number(row.seconds)} s${row.verdict === "failed" ? ", failed" : ""}`),
    })), 2.6);
    for (const k of drawingOrder()) {
      const bins = new Map();
      for (const row of rows) if (row.solver === k) {
        const bin = Math.floor(2 * Math.log10(of(row)) + 1e-9);
        bins.set(bin, [...(bins.get(bin) ?? []), row]);
      }
      const mean = (list) => list.reduce((sum, v) => sum + Math.log(v), 0) / list.length;
      const means = [...bins].sort((a, b) => a[0] - b[0]).map(([, list]) => [x(Math.exp(mean(list.map(of)))), y(Math.exp(mean(list.map(seconds))))]);
      if (means.length < 2) continue;
      const group = seriesGroup(k);
      group.append(s("path", { class: "line", d: `M${means.map((p) => p.map((v) => v.toFixed(1)).join(" ")).join("L")}`, "stroke-dasharray": DASHES[SOLVERS[k].dash] }));
      frame.root.append(group);
    }
    return find;
  } });
  pick.addEventListener("change", entry.render);
}

function overheadPlot() {
  const rows = ROWS.filter((row) => row.overhead !== null && INSTANCES[row.instance].overhead !== null);
  chart("overhead", { look: { marks: true }, solvers: solversOf(rows), describe: "Communication overhead of every run against that of the best known placement", draw: (frame) => {
    if (!rows.length) return empty(frame, "No run has an overhead to compare.");
    const of = (row) => INSTANCES[row.instance].overhead;
    const right = Math.max(0.001, ...rows.map(of)) * 1.05;
    const high = Math.max(0.001, ...rows.map((row) => row.overhead)) * 1.05;
    const { x, y } = axes(frame, {
      height: 340,
      x: { label: "overhead of the best known placement", text: percentTick, scale: (a, b) => linear(0, right, a, b) },
      y: { label: "overhead of the run", text: percentTick, scale: (a, b) => linear(0, high, a, b) },
    });
    const end = Math.min(right, high);
    frame.root.append(s("line", { class: "diagonal", x1: x(0), y1: y(0), x2: x(end), y2: y(end) }));
    const find = cloud(frame, rows.map((row) => ({
      x: x(of(row)), y: y(row.overhead), solver: row.solver, hollow: row.verdict === "overbooked",
      text: () => runText(row, `overhead ${percent(row.overhead)}, best known ${percent(of(row))}`),
    })));
    frame.root.append(s("text", { class: "on-marks", x: x(end * 0.98), y: y(end * 0.98) + 22, "text-anchor": "end" }, "as much as the best known"));
    return find;
  } });
}
