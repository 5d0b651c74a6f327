"""JUnit XML: one test case per run, a test suite per solver; gates that failed are failures of their own suite.

It is red exactly where the command fails: a baseline without an answer, which fails no gate, is a skipped case.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from crop_cli.bench.gates import Failure
from crop_cli.bench.records import Row, Summary

_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no form for."""


def junit(summary: Summary, failures: list[Failure], gates: list[str]) -> bytes:
    """The document.

    Parameters
    ----------
    failures
        Gates that were not passed.
    gates
        All that were asked, as they were written.
    """
    root = ElementTree.Element("testsuites", name="crop bench", time=f"{summary.seconds:.3f}")
    for solver in summary.solvers:
        rows = [row for row in summary.rows if row.solver == solver]
        suite = _suite(root, solver, len(rows), sum(map(_fails, rows)))
        suite.set("skipped", str(sum(row.verdict == "failed" and not _fails(row) for row in rows)))
        suite.set("time", f"{sum(row.seconds for row in rows):.3f}")
        for row in rows:
            _case(suite, row)
    asked = list(dict.fromkeys([*gates, *(failure.gate for failure in failures)]))
    suite = _suite(root, "gates", len(asked), len({failure.gate for failure in failures}))
    for gate in asked:
        case = ElementTree.SubElement(suite, "testcase", classname="gates", name=_clean(gate))
        found = [failure for failure in failures if failure.gate == gate]
        if found:
            first = f"{found[0].where}: {found[0].found}"
            failure = ElementTree.SubElement(case, "failure", message=_clean(first), type="gate")
            failure.text = _clean("\n".join(map(str, found)))
    for key in ("tests", "failures"):
        root.set(key, str(sum(int(child.get(key, "0")) for child in root)))
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _suite(root: ElementTree.Element, name: str, tests: int, failures: int) -> ElementTree.Element:
    attributes = {"name": name, "tests": str(tests), "failures": str(failures), "errors": "0"}
    return ElementTree.SubElement(root, "testsuite", attributes)


def _case(suite: ElementTree.Element, row: Row) -> None:
    name = row.instance + (f" seed {row.seed}" if row.seed else "")
    case = ElementTree.SubElement(suite, "testcase", classname=row.solver, name=_clean(name), time=f"{row.seconds:.3f}")
    if row.verdict == "failed" and not _fails(row):
        ElementTree.SubElement(case, "skipped", message=_clean(row.error or "failed"))
    elif _fails(row):
        failure = ElementTree.SubElement(case, "failure", message=_clean(row.error or "failed"), type=row.stop_reason)
        failure.text = _clean(row.error or "")
    figures = {"objective": row.objective, "bound": row.bound, "ratio": row.ratio, "gap": row.gap}
    text = ", ".join(f"{key} {value:.9g}" for key, value in figures.items() if value is not None)
    ElementTree.SubElement(case, "system-out").text = _clean(f"{row.verdict} ({row.stop_reason}) {text}")


def _fails(row: Row) -> bool:
    return row.verdict == "failed" and row.role != "baseline"


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
