// Sorting by a click on a heading: figures first from high to low, names from a to z; absent values stay last.
function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button")?.addEventListener("click", () => {
    const before = head.getAttribute("aria-sort");
    const first = head.classList.contains("figure") ? "descending" : "ascending";
    const other = first === "ascending" ? "descending" : "ascending";
    const order = before === first ? other : first;
    heads.forEach((one) => one.setAttribute("aria-sort", one === head ? order : "none"));
    const sign = order === "ascending" ? 1 : -1;
    const numeric = head.classList.contains("figure");
    const value = (row) => row.cells[column].dataset.v ?? row.cells[column].textContent;
    const rows = [...table.tBodies[0].rows].sort((a, b) => {
      const [u, v] = [value(a), value(b)];
      if (u === "" || v === "") return (u === "") - (v === "");
      return sign * (numeric ? Number(u) - Number(v) : u.localeCompare(v, "en", { numeric: true }));
    });
    table.tBodies[0].append(...rows);
  }));
}
// A table of {title, figure, hint} columns and rows of cells [text, value] or elements.
function makeTable(caption, columns, rows) {
  const table = h("table", { class: "sortable" },
    h("caption", {}, caption),
    h("thead", {}, h("tr", {}, columns.map((column) => h("th", { scope: "col", "aria-sort": "none", class: column.figure ? "figure" : "" },
      h("button", { type: "button", title: column.hint }, column.title))))),
    h("tbody", {}, rows));
  sortable(table);
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table);
}
// Rows of a solver's table take part in picking.
function linkRows() {
  const at = new Map(SOLVERS.map((one, k) => [one.name, k]));
  for (const head of document.querySelectorAll("th[data-solver]")) {
    const k = at.get(head.dataset.solver);
    head.parentElement.addEventListener("pointerenter", () => point(k));
    head.parentElement.addEventListener("pointerleave", () => point(null));
  }
}
