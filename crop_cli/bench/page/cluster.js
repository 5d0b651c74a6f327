// A placement drawn: switches as nested boxes, one square per GPU, coloured by job.
const COMPACT = { nodes: 256, gpus: 4096 };
const MOST_JOBS = 400;

// The same name has the same colour on every page; hue and lightness both differ.
function jobColour(name) {
  let hash = 2166136261;
  for (const c of name) hash = Math.imul(hash ^ c.codePointAt(0), 16777619) >>> 0;
  hash = (hash ^ (hash >>> 15)) >>> 0;
  const [lightness, saturation] = [[36, 62], [52, 74], [70, 78]][hash % 3];
  return `hsl(${((hash >>> 3) % 30) * 12} ${saturation}% ${lightness}%)`;
}
// Workers per node of every job, and which jobs each node holds.
function unpack(cluster, code) {
  const jobs = new Map();
  const held = cluster.nodes.map(() => []);
  for (const [job, ...runs] of code) {
    const nodes = [];
    for (let k = 0; k < runs.length; k += 3) for (let n = runs[k]; n < runs[k] + runs[k + 1]; n += 1) {
      nodes.push([n, runs[k + 2]]);
      held[n].push([job, runs[k + 2]]);
    }
    jobs.set(job, nodes);
  }
  for (const list of held) list.sort((a, b) => a[0] - b[0]);
  return { jobs, held };
}
// What the GPUs of a node show, in order: [kind, how many, job].
function partsOf(cluster, held, n) {
  const parts = held[n].map(([job, count]) => ["job", count, job]);
  if (cluster.used[n]) parts.push(["held", cluster.used[n], null]);
  const left = cluster.gpus[n] - parts.reduce((sum, part) => sum + part[1], 0);
  if (left > 0) parts.push([cluster.states[n] === "u" ? "free" : "out", left, null]);
  return parts;
}
function whereText(cluster, nodes, most = 6) {
  const shown = nodes.slice(0, most).map(([n, count]) => `${cluster.nodes[n]}:${count}`).join(" ");
  return nodes.length > most ? `${shown} and ${nodes.length - most} more` : shown;
}
function placesOf(cluster, nodes, most = 4) {
  const places = nodes.slice(0, most).map(([n, count]) => h("span", {}, `${cluster.nodes[n]}:${count}`));
  return nodes.length > most ? [...places, h("span", {}, `+ ${nodes.length - most}`)] : places;
}
const STATE = { d: "drained", x: "down" };
const PART = { held: "in use by others", free: "free", out: "out of service" };

function drawPlacement(cluster, code, loads) {
  const { jobs, held } = unpack(cluster, code);
  const gpus = cluster.gpus.reduce((sum, count) => sum + count, 0);
  const compact = cluster.nodes.length > COMPACT.nodes || gpus > COMPACT.gpus;
  const view = h("div", { class: `cluster${compact ? " compact" : ""}`, role: "group", "aria-label": `Placement on ${plural(cluster.nodes.length, "node")}` });
  const inside = new Map([[-1, view]]);
  const boxes = cluster.switches.map(([name, level], k) => {
    const kids = h("div", { class: "inside" });
    inside.set(k, kids);
    return h("div", { class: `switch${loads.has(name) ? " overbooked" : ""}` },
      h("div", { class: "label" }, `${level} `, h("b", {}, name), h("span", { class: "load" }, loads.has(name) ? ` uplink ${percent(loads.get(name))}` : "")), kids);
  });
  cluster.nodes.forEach((name, n) => inside.get(cluster.parents[n]).append(nodeBox(cluster, n, partsOf(cluster, held, n), compact, loads)));
  cluster.switches.forEach(([, , parent], k) => inside.get(parent).append(boxes[k]));
  const list = jobList(cluster, jobs);
  const drawing = h("div", { class: "drawing" }, view, list);
  interact(drawing, view, cluster, jobs);
  return [keyOf(cluster, compact), drawing];
}
function nodeBox(cluster, n, parts, compact, loads) {
  const name = cluster.nodes[n];
  const state = STATE[cluster.states[n]];
  const say = parts.map(([kind, count, job]) => `${count} ${kind === "job" ? cluster.jobs[job] : PART[kind]}`).join(", ");
  const label = `${name}${state ? ` (${state})` : ""}: ${say || "no GPUs"}`;
  if (compact) {
    return h("div", { class: `node${loads.has(name) ? " overbooked" : ""}`, role: "img", "aria-label": label, "data-n": n }, parts.map(([kind, count, job]) =>
      h("div", { class: `bar ${kind}`, "data-j": job, style: `flex:${count}${kind === "job" ? `;--job:${jobColour(cluster.jobs[job])}` : ""}` })));
  }
  // One row up to four GPUs, two rows up to sixteen.
  const wide = cluster.gpus[n] <= 4 ? Math.max(1, cluster.gpus[n]) : Math.min(8, Math.ceil(cluster.gpus[n] / 2));
  const squares = parts.flatMap(([kind, count, job]) => Array.from({ length: count }, () =>
    h("div", { class: `gpu ${kind}`, "data-j": job, style: kind === "job" ? `--job:${jobColour(cluster.jobs[job])}` : null })));
  const width = Math.max(40, wide * 15);
  return h("div", { class: `node${loads.has(name) ? " overbooked" : ""}`, role: "img", "aria-label": label, "data-n": n },
    h("div", { class: "label", style: `width:${width}px` }, name, loads.has(name) ? h("span", { class: "load" }, ` ${percent(loads.get(name))}`) : null),
    h("div", { class: "gpus", style: `--wide:${wide}` }, squares));
}
function keyOf(cluster, compact) {
  const entry = (kind, text) => h("span", {}, h("span", { class: `gpu ${kind}`, style: "--job: var(--c0)" }), text);
  return h("div", { class: "key" },
    entry("job", compact ? "a job's share of a node (one bar per node)" : "a job's GPU (one colour per job)"),
    entry("held", "in use by others"), entry("free", "free"), entry("out", "node down or drained"));
}
function jobList(cluster, jobs) {
  const order = cluster.jobs.map((_, k) => k).sort((a, b) => jobs.has(b) - jobs.has(a) || cluster.sizes[b] - cluster.sizes[a] || a - b);
  const rows = order.slice(0, MOST_JOBS).map((k) => h("tr", { class: jobs.has(k) ? "" : "unplaced", "data-row": k },
    h("th", { scope: "row" }, jobs.has(k)
      ? h("button", { type: "button", "data-job": k, "aria-pressed": "false" }, h("span", { class: "gpu job", style: `--job:${jobColour(cluster.jobs[k])}` }), h("span", {}, cluster.jobs[k]))
      : cluster.jobs[k]),
    h("td", { class: "figure" }, String(cluster.sizes[k])),
    h("td", {}, jobs.has(k) ? placesOf(cluster, jobs.get(k)) : "not placed")));
  const more = order.length > MOST_JOBS ? h("p", { class: "note" }, `${order.length - MOST_JOBS} smaller or unplaced jobs are not listed.`) : null;
  return h("div", { class: "jobs", tabindex: "0", role: "region", "aria-label": "Jobs" }, h("table", {},
    h("caption", {}, `Jobs: ${jobs.size} of ${cluster.jobs.length} placed`),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "job"), h("th", { scope: "col", class: "figure" }, "GPUs"), h("th", { scope: "col" }, "nodes"))),
    h("tbody", {}, rows)), more);
}
// Pointing at a GPU or a job lights all GPUs of the job; a click keeps it lit.
function interact(drawing, view, cluster, jobs) {
  let fixed = null;
  const light = (job) => {
    view.classList.toggle("picking", job !== null);
    for (const one of view.querySelectorAll("[data-j]")) one.classList.toggle("lit", job !== null && Number(one.dataset.j) === job);
    for (const row of drawing.querySelectorAll("tr[data-row]")) row.classList.toggle("lit-row", Number(row.dataset.row) === job);
  };
  const jobAt = (target) => {
    const found = target.closest?.("[data-j], [data-job]");
    return found ? Number(found.dataset.j ?? found.dataset.job) : null;
  };
  drawing.addEventListener("pointerover", (event) => {
    const job = jobAt(event.target);
    light(job ?? fixed);
    const node = event.target.closest("[data-n]");
    if (job !== null) {
      showTip(`${cluster.jobs[job]}\n${plural(cluster.sizes[job], "GPU")} on ${whereText(cluster, jobs.get(job))}`, event.clientX, event.clientY);
    } else if (node) {
      const n = Number(node.dataset.n);
      showTip(`${node.getAttribute("aria-label")}${cluster.types.length ? `\n${cluster.types[n]}` : ""}`, event.clientX, event.clientY);
    } else hideTip();
  });
  drawing.addEventListener("pointerleave", () => { light(fixed); hideTip(); });
  drawing.addEventListener("click", (event) => {
    const job = jobAt(event.target);
    if (job === null) return;
    fixed = fixed === job ? null : job;
    light(fixed);
    for (const button of drawing.querySelectorAll("[data-job]")) button.setAttribute("aria-pressed", String(Number(button.dataset.job) === fixed));
  });
}
