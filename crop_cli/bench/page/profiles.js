// Step lines: quality and performance profiles, and gap over time.

// One step line; values hold from one point to the next, and from the last one to the edge.
function stepPath(points, edge) {
  let d = "";
  points.forEach(([x, y], k) => { d += k ? `H${x.toFixed(1)}V${y.toFixed(1)}` : `M${x.toFixed(1)} ${y.toFixed(1)}`; });
  return edge === null ? d : `${d}H${edge.toFixed(1)}`;
}
// The line whose level at the pointer's x is nearest.
function nearestStep(lines, reach = 16) {
  return (px, py) => {
    let [best, least] = [null, reach];
    for (const line of lines) {
      let at = -1;
      for (let k = 0; k < line.points.length && line.points[k][0] <= px + 1; k += 1) at = k;
      if (at < 0 || px > line.end + 4) continue;
      const [, y] = line.points[at];
      // On the rising part of a step the pointer may be between two levels.
      const next = line.points[at + 1];
      const riser = next && Math.abs(next[0] - px) < 4 && (py - y) * (py - next[1]) <= 0;
      const distance = (riser ? 0 : Math.abs(y - py)) * (kept.has(line.solver) ? 0.6 : 1);
      if (distance < least) [best, least] = [{ x: px, y, solver: line.solver, text: line.text(at) }, distance];
    }
    return best;
  };
}
function drawSteps(frame, lines) {
  const order = drawingOrder();
  for (const line of [...lines].sort((a, b) => order.indexOf(a.solver) - order.indexOf(b.solver))) {
    const group = seriesGroup(line.solver);
    group.append(s("path", { class: "line", d: stepPath(line.points, line.end), "stroke-dasharray": DASHES[SOLVERS[line.solver].dash] }));
    if (line.points.length) group.append(s("path", { class: "marks full", d: markPath(line.solver, [line.mark ?? line.points.at(-1)], 3) }));
    frame.root.append(group);
  }
  return nearestStep(lines);
}
const shareAxis = { label: "share of the solver's runs", text: percentTick, scale: (a, b) => linear(0, 1, a, b) };

const CLOSED = 1e-6;
function profilePlot(kind, label, range, text, say) {
  const profiles = DATA.profiles.filter((one) => one.kind === kind && one.x.length);
  const solvers = [...new Set(profiles.map((one) => one.solver))].sort((a, b) => a - b);
  chart(kind, { look: { line: true, marks: true }, solvers, describe: `${label} against share of runs, one line per solver`, draw: (frame) => {
    if (!profiles.length) return empty(frame, "No profile: no run to compare.");
    const [low, high] = range(profiles);
    const { x, y, box } = axes(frame, { height: 340, x: { label, text, scale: (a, b) => log(low, high, a, b) }, y: shareAxis });
    const lines = profiles.map((one) => {
      const points = one.x.map((v, k) => [x(v), y(one.share[k])]);
      if (points[0][0] > box.left) points.unshift([points[0][0], y(0)]);
      const lead = points.length - one.x.length;
      // Markers sit on the rising part, each solver's at another share of it: lines often meet at their ends.
      const mark = points[Math.floor(points.length * (0.35 + 0.5 * ((one.solver * 0.618) % 1)))];
      return { solver: one.solver, points, end: box.right, mark, text: (k) => `${SOLVERS[one.solver].name}\n${say(one.x[Math.max(0, k - lead)], one.share[Math.max(0, k - lead)])}` };
    });
    return drawSteps(frame, lines);
  } });
}
function profilePlots() {
  profilePlot("quality", "1 − ratio", (all) => [CLOSED, Math.max(1, ...all.flatMap((one) => one.x))],
    (v) => (v <= CLOSED ? `≤ ${powerText(v)}` : powerText(v)),
    (x, share) => `${percent(share)} of its runs are at most ${percent(Math.max(0, x))} off`);
  profilePlot("performance", "time over the fastest solver's (factor)",
    (all) => [1, decades(all.flatMap((one) => one.x))[1]],
    (v) => `${powerText(v)}×`,
    (x, share) => `${percent(share)} of its runs within ${number(x)} times the fastest`);
}
