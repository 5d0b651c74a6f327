// Everything that happens when the page opens.
for (const table of document.querySelectorAll("table.sortable")) sortable(table);
linkRows();
ratioPlot();
profilePlots();
gapPlot();
timePlot();
overheadPlot();
for (const { canvas } of charts) observer?.observe(canvas);
document.getElementById("unpin").addEventListener("click", () => { kept.clear(); applyPicks(); });
for (const details of document.querySelectorAll("details.instance")) {
  details.addEventListener("toggle", () => { if (details.open) openInstance(details); });
}
finder();
