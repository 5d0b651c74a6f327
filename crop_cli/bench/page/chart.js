// The frame of a plot: drawn to the width it has, with axes, a legend, and what is nearest to the pointer.
const charts = [];
const TEXT_WIDTH = 6.6;

// `draw(frame)` fills a frame and returns what the pointer can find; `look` says what the legend shows.
function chart(id, { look, solvers, draw, describe }) {
  const figure = document.getElementById(`plot-${id}`);
  const canvas = figure.querySelector(".canvas");
  if (look) legend(figure.querySelector(".legend"), solvers, look);
  const entry = { figure, canvas, width: 0, find: null };
  entry.render = () => {
    const width = Math.max(240, Math.floor(canvas.clientWidth));
    entry.width = width;
    const root = s("svg", { role: "img", "aria-label": describe });
    entry.find = draw({ root, width });
    canvas.replaceChildren(root);
    applyPicks(canvas);
  };
  canvas.addEventListener("pointermove", (event) => follow(entry, event));
  canvas.addEventListener("pointerleave", () => { point(null); hideTip(); canvas.querySelector(".halo")?.remove(); });
  charts.push(entry);
  entry.render();
  return entry;
}
function follow(entry, event) {
  const box = entry.canvas.getBoundingClientRect();
  const found = entry.find?.(event.clientX - box.left, event.clientY - box.top);
  entry.canvas.querySelector(".halo")?.remove();
  point(found ? found.solver : null);
  if (!found) { hideTip(); return; }
  entry.canvas.firstElementChild.append(s("circle", { class: "halo", cx: found.x, cy: found.y, r: 6 }));
  showTip(found.text, event.clientX, event.clientY);
}

// Axes with labels around an inner box; returns the two scales.
function axes({ root, width }, { height, x, y, left = 52, right = 14 }) {
  const box = { left, right: width - right, top: 22, bottom: height - 40 };
  root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const scaleX = x.scale(box.left, box.right);
  const scaleY = y.scale(box.bottom, box.top);
  let clear = -Infinity;
  for (const v of scaleX.ticks) {
    const [at, text] = [scaleX(v), x.text(v)];
    root.append(s("line", { class: "grid", x1: at, x2: at, y1: box.top, y2: box.bottom }));
    const half = (text.length * TEXT_WIDTH) / 2;
    if (at - half < clear) continue;
    clear = at + half + 6;
    root.append(s("text", { x: Math.min(at, width - half), y: box.bottom + 15, "text-anchor": "middle" }, text));
  }
  for (const v of scaleY.ticks) {
    const at = scaleY(v);
    root.append(s("line", { class: "grid", x1: box.left, x2: box.right, y1: at, y2: at }));
    root.append(s("text", { x: box.left - 6, y: at + 4, "text-anchor": "end" }, y.text(v)));
  }
  root.append(s("path", { class: "axis", fill: "none", d: `M${box.left} ${box.top}V${box.bottom}H${box.right}` }));
  root.append(s("text", { class: "title", x: box.right, y: height - 6, "text-anchor": "end" }, x.label));
  root.append(s("text", { class: "title", x: 2, y: 12 }, y.label));
  return { x: scaleX, y: scaleY, box };
}
function empty({ root, width }, text) {
  root.setAttribute("viewBox", `0 0 ${width} 120`);
  root.append(s("text", { class: "empty", x: width / 2, y: 64, "text-anchor": "middle" }, text));
  return null;
}

// Baselines below, crop's solvers on top of them.
const drawingOrder = () => SOLVERS.map((_, k) => k).sort((a, b) => SOLVERS[b].baseline - SOLVERS[a].baseline || a - b);

// The nearest of points {x, y, solver, text()} within reach; picked solvers are preferred.
function nearest(points, reach = 18) {
  return (px, py) => {
    let [best, least] = [null, reach * reach];
    for (const p of points) {
      const distance = ((p.x - px) ** 2 + (p.y - py) ** 2) * (kept.has(p.solver) ? 0.4 : 1);
      if (distance < least) [best, least] = [p, distance];
    }
    return best && { x: best.x, y: best.y, solver: best.solver, text: best.text() };
  };
}

// Draw again when the width changed.
const observer = window.ResizeObserver && new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const entry = charts.find((one) => one.canvas === target);
    if (entry && Math.floor(target.clientWidth) !== entry.width && target.clientWidth > 0) entry.render();
  }
});
