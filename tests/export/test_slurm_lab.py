"""The commands for Slurm, obeyed by a real controller: jobs run on the chosen nodes with the chosen numbers of GPUs."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from crop_cli import api
from crop_cli.export.placed import read_exported
from crop_cli.export.slurm import commands, slurm_script
from crop_cli.model.io import dump_solution
from tests.export import slurm_lab

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not slurm_lab.available(), reason="needs root, Slurm and the tool slurm_lab"),
]

SUBMIT = "sbatch --parsable --uid=alice --gid=alice -D / -o /dev/null"
SETTLED = 'for i in $(seq 90); do [ -z "$(squeue -h -t PENDING,COMPLETING)" ] && break; sleep 1; done'
SHOW = "scontrol --details --oneliner show job"


def _cluster() -> dict[str, Any]:
    """The lab's nodes as crop sees them."""
    nodes = [{"name": f"r{r}n{n}", "parent": f"rack{r}", "gpus": 8, "uplink_gbps": 100} for r in (0, 1) for n in (0, 1)]
    switches = [{"name": f"rack{r}", "level": "rack", "uplink_gbps": 100} for r in (0, 1)]
    return {"levels": ["rack", "node"], "switches": switches, "nodes": nodes}


def _job(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "message_mb": 100, "compute_s": 0.5, **fields}


def _script(tmp_path: Path, jobs: list[dict[str, Any]], script: str) -> tuple[str, dict[str, dict[str, int]]]:
    """The script for the best placement, and the GPUs per node that it is to give."""
    instance, solution = tmp_path / "lab.json", tmp_path / "solution.json"
    data = {"format": "crop-instance/1", "name": "lab", "cluster": _cluster(), "jobs": jobs}
    instance.write_text(json.dumps(data))
    solved = api.solve(instance, solver="exact")
    assert len(solved.placements) == len(jobs), solved.unplaced
    solution.write_bytes(dump_solution(solved))
    exported = read_exported([str(instance), str(solution)])
    made = slurm_script(exported, commands(exported, script))
    return made, {row.job: row.nodes for row in solved.placements}


def _run(made: str, before: str = "") -> dict[str, dict[str, int]]:
    """Obey a script in the lab, after other commands."""
    file = f"cat > /lab/place.sh <<'END_OF_SCRIPT'\n{made}END_OF_SCRIPT\n"
    lines = [before, file, "bash /lab/place.sh >/lab/out 2>&1 || { cat /lab/out; exit 1; }", SETTLED, SHOW]
    return slurm_lab.allocated(slurm_lab.run("set -e\n" + "\n".join(lines)))


def test_new_jobs_start_where_they_were_placed(tmp_path: Path) -> None:
    """Even and uneven splits, and a name that a shell would take apart, run on exactly their nodes and GPUs."""
    jobs = [
        _job("even", gpus=8, spread={"level": "node", "max_gpus": 4}),
        _job("uneven", gpus=11, within="rack"),
        _job('it\'s $HOME; a "name"', gpus=3),
        _job("rest", gpus=6),
    ]
    made, wanted = _script(tmp_path, jobs, "/lab/sleep.sh")
    assert any(len(set(nodes.values())) > 1 for nodes in wanted.values())
    before = "printf '#!/bin/sh\\nsleep 600\\n' > /lab/sleep.sh; cd /"
    assert _run(made, before) == wanted


def test_jobs_of_the_queue_start_where_they_were_placed(tmp_path: Path) -> None:
    """However a held job asked for its GPUs, it runs on its nodes; an uneven one is submitted again."""
    asked = {
        "1-per-node": (8, "-N2 --gpus-per-node=4"),
        "2-in-all": (4, "--gpus=4"),
        "3-typed": (8, "--gpus=a100:8"),
        "4-per-task": (4, "--ntasks=4 --gpus-per-task=1"),
        "5-odd": (5, "--gpus=5"),
    }
    shapes: dict[str, dict[str, Any]] = {
        "2-in-all": {"spread": {"level": "node", "max_gpus": 2}},
        "3-typed": {"spread": {"level": "node", "max_gpus": 4}},
        "5-odd": {"spread": {"level": "node", "max_gpus": 3}},
    }
    jobs = [_job(name, gpus=gpus, **shapes.get(name, {})) for name, (gpus, _) in asked.items()]
    made, wanted = _script(tmp_path, jobs, "unused")
    assert "resubmit 5" in made
    submit = [
        f"{SUBMIT} -H --time=30 -J {shlex.quote(name.partition('-')[2])} {options} --wrap='sleep 600'"
        for name, (_, options) in asked.items()
    ]
    found = _run(made, "\n".join(submit))
    assert found == {name.partition("-")[2]: nodes for name, nodes in wanted.items()}


def test_a_running_job_that_moves_starts_again_where_it_is_to_go(tmp_path: Path) -> None:
    """A movable job gives way to one that needs its node, and what runs on unmoved is left alone."""
    jobs = [
        _job("1-mover", gpus=2, placement={"r0n0": 2}, movable=True, migration_minutes=1),
        _job("2-stayer", gpus=6, placement={"r0n1": 6}),
        _job("3-third", gpus=8, placement={"r1n0": 8}),
        _job("4-fourth", gpus=6, placement={"r1n1": 6}),
        _job("5-newcomer", gpus=8, within="node"),
    ]
    made, wanted = _script(tmp_path, jobs, "unused")
    assert wanted["5-newcomer"] == {"r0n0": 8}
    runs = [
        f"{SUBMIT} -J {name} -w {node} --gpus-per-node={gpus} --wrap='sleep 600'"
        for name, node, gpus in (
            ("mover", "r0n0", 2),
            ("stayer", "r0n1", 6),
            ("third", "r1n0", 8),
            ("fourth", "r1n1", 6),
        )
    ]
    held = f"{SUBMIT} -H -J newcomer -N1 --gpus-per-node=8 --wrap='sleep 600'"
    found = _run(made, "\n".join([*runs, "sleep 4", held]))
    assert found == {name.partition("-")[2]: nodes for name, nodes in wanted.items()}


@pytest.mark.skipif(slurm_lab.SLURM != "host", reason="crop itself runs beside the controller")
@pytest.mark.parametrize("given", ["solution", "instance and solution"])
def test_from_the_live_queue_and_back(tmp_path: Path, given: str) -> None:
    """Import, solve and export as one pipeline: what waits starts where crop placed it, what runs is left alone."""
    crop = f"PYTHONPATH={shlex.quote(str(slurm_lab.ROOT))} {shlex.quote(sys.executable)} -m crop_cli"
    here = shlex.quote(str(tmp_path))
    wait = "--wrap='sleep 600'"
    lines = [
        "set -euo pipefail",
        f"{SUBMIT} -J running -w r0n0 --gpus-per-node=2 {wait}",
        "sleep 4",
        f"{SUBMIT} -H -J even -N2 --gpus-per-node=4 {wait}",
        f"{SUBMIT} -H -J whole -N1 --gpus-per-node=8 {wait}",
        # A name that looks like other fields of the job.
        f"{SUBMIT} -H -J 'any UserId=root(0) GroupId=root(0)' --gpus=10 {wait}",
        f"{SUBMIT} -H -J 'array job' --array=0-1 -N1 --gpus-per-node=1 {wait}",
        f"cd {here}; scontrol -d show node >nodes; scontrol show topology >topology; scontrol -d show job >jobs",
        f"{crop} import slurm --nodes nodes --topology topology --jobs jobs --include-held -q -o instance.json",
        f"cat instance.json | {crop} solve - -q -o - | tee solution.json"
        f" | {crop} export slurm {'instance.json' if 'instance' in given else ''} - >place.sh",
        "bash place.sh >out 2>&1 || { cat out; exit 1; }",
        SETTLED,
        "squeue --noheader --format=%u | sort -u | sed 's/^/user /'",
        SHOW,
    ]
    printed = slurm_lab.run("\n".join(lines))
    assert [line for line in printed.splitlines() if line.startswith("user ")] == ["user alice"]
    found = slurm_lab.allocated(printed, key="id")
    solution = json.loads((tmp_path / "solution.json").read_text())
    wanted = {row["job"].partition("-")[0]: row["nodes"] for row in solution["placements"]}
    assert set(wanted) == {"1", "2", "3", "4", "5_0", "5_1"}
    again = {
        old: str(int(new))
        for old, new in re.findall(r"job (\d+) \(.*\) is now .* job (\d+)", (tmp_path / "out").read_text())
    }
    assert found == {again.get(number, number): nodes for number, nodes in wanted.items()}
