"""JUnit XML: well formed whatever the names, with counts that add up."""

from __future__ import annotations

from xml.etree import ElementTree

from crop_cli.bench.gates import Failure, failures, read_gate
from crop_cli.bench.junit import junit
from tests.bench.build import failed, run, summary
from tests.bench.sample import sample

HOSTILE = "a<b>&\"'\x00\x0b\x1b[31m]]>\ud800\ufffe/é🦀"


def document(*args: object) -> ElementTree.Element:
    """The parsed document."""
    return ElementTree.fromstring(junit(*args))


def test_cases_suites_and_counts() -> None:
    """A suite per solver with a case per run, a suite of gates, and totals over all."""
    made = summary([run(), failed(seed=1), run(solver="ff", role="baseline")])
    gates = ["greedy.ratio>=0.9", "ff.ratio>=0.1"]
    root = document(made, failures(made, [read_gate(gate) for gate in gates]), gates)
    assert (root.get("tests"), root.get("failures")) == ("6", "3")
    greedy, other, asked = root
    assert [suite.get("name") for suite in root] == ["greedy", "ff", "gates"]
    assert (greedy.get("tests"), greedy.get("failures"), greedy.get("time")) == ("2", "1", "2.000")
    assert [case.get("name") for case in greedy] == ["s/i", "s/i seed 1"]
    assert greedy[1].find("failure").get("message") == "broken"
    assert greedy[0].find("system-out").text == "feasible (completed) objective 4, ratio 0.5"
    assert other.get("failures") == "0"
    assert [case.get("name") for case in asked] == [*gates, "every answer is verified"]
    assert [case.find("failure") is not None for case in asked] == [True, False, True]
    assert "s/i, greedy: ratio is 0.5, not >= 0.9" in asked[0].find("failure").text


def test_a_baseline_without_an_answer_is_skipped() -> None:
    """It fails no gate, so that a report of a bench that passes has no failures; its error is told."""
    made = summary([run(), failed(solver="ff", role="baseline")])
    root = document(made, failures(made, []), [])
    assert (root.get("tests"), root.get("failures")) == ("2", "0")
    assert (root[1].get("skipped"), root[1][0].find("skipped").get("message")) == ("1", "broken")


def test_hostile_names_stay_well_formed() -> None:
    """What XML cannot hold is replaced, the rest is escaped and comes back as it was."""
    made = summary([failed(instance=HOSTILE, error=HOSTILE)])
    root = document(made, [Failure("gate <&>", HOSTILE, HOSTILE)], ["gate <&>"])
    clean = "a<b>&\"'\ufffd\ufffd\ufffd[31m]]>\ufffd\ufffd/é🦀"
    case = root[0][0]
    assert case.get("name") == clean
    assert case.find("failure").text == clean
    assert root[1][0].find("failure").get("message") == f"{clean}: {clean}"


def test_a_rich_bench() -> None:
    """Every run of a bench is a case."""
    made, runs, _ = sample()
    root = document(made, [], [])
    assert len(root.findall("testsuite/testcase")) == len(runs)
    assert sum(int(suite.get("failures")) for suite in root) == sum(
        one.verdict == "failed" and one.role != "baseline" for one in runs
    )
