"""The script for Slurm, obeyed by stand-ins of its commands that write down their arguments."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crop_cli.errors import InputError, UsageError
from crop_cli.export.placed import Exported, read_exported
from crop_cli.export.slurm import DEFAULT_SCRIPT, commands, slurm_json, slurm_script
from tests.export import solved

STAND_IN = """#!/usr/bin/env python3
import json, os, sys
name, arguments = os.path.basename(sys.argv[0]), sys.argv[1:]
with open(os.environ["SAID"], "a") as file:
    file.write(json.dumps([name, *arguments]) + "\\n")
job = next((a.partition("=")[2] for a in arguments if a.startswith("--jobs=")), "")
known = json.loads(os.environ["QUEUE"]).get(job, {})
for key in ("%T", "%j", "%r"):
    if f"--format={key}" in arguments and known:
        print(known[key])
if arguments[:3] == ["--oneliner", "show", "job"]:
    print(json.loads(os.environ["QUEUE"])[arguments[3]]["show"])
"""


def _obeyed(tmp_path: Path, script: str, queue: dict[str, dict[str, str]] | None = None) -> tuple[list[list[str]], str]:
    """Commands that a script calls, by their names and arguments, and what it says on standard error."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sbatch", "scontrol", "squeue", "scancel"):
        (folder / name).write_text(STAND_IN)
        (folder / name).chmod(0o755)
    said = tmp_path / "said.jsonl"
    said.touch()
    path = f"{folder}:{Path(sys.executable).parent}:/usr/bin:/bin"
    environment = {"PATH": path, "SAID": str(said), "QUEUE": json.dumps(queue or {})}
    done = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in said.read_text().splitlines()], done.stderr


def _script(exported: Exported, batch: str = DEFAULT_SCRIPT, *, queued: bool | None = None) -> str:
    return slurm_script(exported, commands(exported, batch, queued=queued))


def _queued(name: str, state: str = "PENDING", reason: str = "Priority", show: str = "") -> dict[str, str]:
    return {"%T": state, "%j": name, "%r": reason, "show": f"JobId=1 {show}"}


def _job(name: str, gpus: int, **fields: Any) -> dict[str, Any]:
    return {"name": name, "gpus": gpus, **fields}


AWKWARD = 'it\'s $HOME; `a` "name" \\ #x'


def test_an_even_split_is_one_request(tmp_path: Path) -> None:
    """Nodes, their number and the GPUs of each are fixed; cores and memory per GPU are asked for."""
    data = solved.instance([_job("bert", 16, resources_per_gpu={"cpu": 4, "memory_gib": 2.5})])
    for node in data["cluster"]["nodes"]:
        node["resources"] = {"cpu": 64, "memory_gib": 64}
    said, _ = _obeyed(tmp_path, _script(solved.exported(tmp_path, data)))
    options = ["--nodes=2", "--nodelist=n[1-2]", "--gpus-per-node=8", "--cpus-per-gpu=4", "--mem-per-gpu=2560M"]
    assert said == [["sbatch", "--job-name=bert", *options, "./bert.sh"]]


def test_an_uneven_split_is_a_heterogeneous_job(tmp_path: Path) -> None:
    """One component per number of GPUs, most first."""
    data = solved.instance([_job("odd", 13)], {"a": 8, "b": 5})
    said, _ = _obeyed(tmp_path, _script(solved.exported(tmp_path, data)))
    first = ["--nodes=1", "--nodelist=a", "--gpus-per-node=8"]
    assert said == [
        ["sbatch", "--job-name=odd", *first, ":", "--nodes=1", "--nodelist=b", "--gpus-per-node=5", "./odd.sh"]
    ]


def test_names_reach_slurm_as_they_are(tmp_path: Path) -> None:
    """Blanks, quotes and what a shell would expand are part of the name."""
    exported = solved.exported(tmp_path, solved.instance([_job(AWKWARD, 8), _job("99-" + AWKWARD, 8)]))
    said, _ = _obeyed(tmp_path, _script(exported, "jobs/{job}.sh", queued=True), {"99": _queued(AWKWARD)})
    (submitted,) = [call for call in said if call[0] == "sbatch"]
    assert submitted[1] == f"--job-name={AWKWARD}"
    assert submitted[-1] == f"jobs/{AWKWARD}.sh"
    assert ["scontrol", "update", "JobId=99"] in [call[:3] for call in said]


def test_no_text_of_a_solution_ends_its_comment(tmp_path: Path) -> None:
    """Line ends in a file that was not checked do not become commands."""
    _, path = solved.write(tmp_path, solved.instance([_job("a", 16), _job("b", 12)]))
    file = Path(path)
    evil = "x\nfalse\r\nexit 3\u2028exit 3"
    solution = json.loads(file.read_text())
    solution.update(crop_version=evil, instance={"name": evil, "sha256": evil})
    solution["solver"]["name"] = evil
    solution["placements"][0]["job"] = evil
    solution["unplaced"][0].update(job="y" + evil, reason=evil)
    file.write_text(json.dumps(solution))
    said, _ = _obeyed(tmp_path, _script(read_exported([path])))
    assert [call[:2] for call in said] == [["sbatch", f"--job-name={evil}"]]


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ("TresPerJob=gres:gpu:8", ""),
        ("TresPerNode=gres/gpu:8", ""),
        ("TresBind=gres/gpu:per_task:1 TresPerTask=gres/gpu=1", ""),
        ("TresPerTask=cpu=2,gres/gpu:a100=1", "a100:"),
        ("TresPerJob=gres:gpu:a100:8", "a100:"),
        ("TresPerNode=gres/gpu:3090:8", "3090:"),
    ],
)
def test_a_job_of_the_queue_is_updated_in_the_words_it_used(tmp_path: Path, asked: str, kind: str) -> None:
    """A request with a type is updated with the type, one without it without, and a held job is released."""
    exported = solved.exported(tmp_path, solved.instance([_job("17-bert", 16)]))
    queue = {"17": _queued("bert", reason="JobHeldUser", show=f"NumNodes=2 {asked} Power=")}
    said, _ = _obeyed(tmp_path, _script(exported), queue)
    update = ["scontrol", "update", "JobId=17", "ReqNodeList=n[1-2]", "NumNodes=2-2", f"Gres=gpu:{kind}8"]
    assert [call for call in said if call[0] == "scontrol" and call[1] != "--oneliner"] == [
        update,
        ["scontrol", "release", "17"],
    ]


@pytest.mark.parametrize(
    ("queue", "says"),
    [
        ({"17": _queued("bert", state="RUNNING")}, "it is RUNNING, not PENDING"),
        ({"17": _queued("other")}, "it is called other, not bert"),
        ({}, "it is not in the queue, not PENDING"),
    ],
)
def test_other_jobs_are_left_alone(tmp_path: Path, queue: dict[str, dict[str, str]], says: str) -> None:
    """A job that runs, ended, or has a number that now is another job's, is not touched, and that is said."""
    exported = solved.exported(tmp_path, solved.instance([_job("17-bert", 16)]), with_instance=False)
    said, told = _obeyed(tmp_path, _script(exported), queue)
    assert not [call for call in said if call[0] != "squeue"]
    assert says in told


def test_what_runs_on_is_no_command(tmp_path: Path) -> None:
    """With the instance, running jobs that stay are comments only, and jobs that wait too."""
    data = solved.instance([_job("1-runs", 8, placement={"n1": 8}), _job("2-starts", 8), _job("3-waits", 8)])
    exported = solved.exported(tmp_path, data)
    assert [(command.slurm_id, command.argv[0]) for command in commands(exported)] in (
        [("2", "place")],
        [("3", "place")],
    )
    assert '#   "1-runs": 8 GPUs on 1 node' in _script(exported)
    assert "# Not placed:" in _script(exported)


MOVE = solved.instance(
    [{"name": "1-mover", "gpus": 2, "placement": {"n1": 2}, "movable": True}, {"name": "2-big", "gpus": 8}],
    {"n1": 8, "n2": 2},
)


def test_a_moving_job_gives_up_its_gpus_before_others_start(tmp_path: Path) -> None:
    """All requeues come first; the mover is then sent to its new node and released."""
    script = _script(solved.exported(tmp_path, MOVE))
    # Here a requeued job is pending at once.
    script = script.replace("left[$1]=1", "left[$1]=1\nQUEUE=${QUEUE/RUNNING/PENDING}", 1)
    said, _ = _obeyed(tmp_path, script, {"1": _queued("mover", state="RUNNING"), "2": _queued("big")})
    done = [call[1:] for call in said if call[0] == "scontrol" and call[1] != "--oneliner"]
    assert done == [
        ["requeuehold", "1"],
        ["update", "JobId=1", "ReqNodeList=n2", "NumNodes=1-1", "Gres=gpu:2"],
        ["update", "JobId=1", "StartTime=now"],
        ["release", "1"],
        ["update", "JobId=2", "ReqNodeList=n1", "NumNodes=1-1", "Gres=gpu:8"],
    ]


@pytest.mark.parametrize("queue", [{}, {"1": _queued("mover", "COMPLETED")}, {"1": _queued("other", "RUNNING")}])
def test_what_was_to_move_and_runs_no_more_is_left_alone(tmp_path: Path, queue: dict[str, dict[str, str]]) -> None:
    """A job that has ended, or whose number is another's now, is not requeued, and the others start."""
    script = _script(solved.exported(tmp_path, MOVE))
    said, told = _obeyed(tmp_path, script, {**queue, "2": _queued("big")})
    assert [call[1:3] for call in said if call[0] == "scontrol" and call[1] != "--oneliner"] == [["update", "JobId=2"]]
    assert "job 1 (mover) is left alone" in told


def test_a_job_that_slurm_does_not_know_cannot_move(tmp_path: Path) -> None:
    """Without a number there is nothing to requeue."""
    data = solved.instance([_job("mover", 2, placement={"n1": 2}, movable=True), _job("big", 8)], {"n1": 8, "n2": 2})
    with pytest.raises(UsageError, match="no Slurm job number"):
        commands(solved.exported(tmp_path, data))


def test_a_node_that_would_be_read_as_a_list_is_refused(tmp_path: Path) -> None:
    """A comma or bracket in a node's name would send the job somewhere else."""
    with pytest.raises(InputError, match=r'found "n1,n2"'):
        commands(solved.exported(tmp_path, solved.instance([_job("a", 8)], {"n1,n2": 8})))


@pytest.mark.parametrize(
    ("names", "queued", "ids"),
    [
        (["17-bert", "18_3-gpt", "19+1-het", "20"], None, ["17", "18_3", "19+1", "20"]),
        (["17-bert", "gpt-2"], None, [None, None]),
        (["17-bert", "gpt-2"], True, ["17", None]),
        (["17-bert", "18"], False, [None, None]),
    ],
)
def test_numbers_in_names_are_those_of_the_queue_where_all_have_one(
    tmp_path: Path, names: list[str], queued: bool | None, ids: list[str | None]
) -> None:
    """A name such as "17-bert" alone does not make a job one of the queue."""
    exported = solved.exported(tmp_path, solved.instance([_job(name, 2, weight=9 - i) for i, name in enumerate(names)]))
    assert [command.slurm_id for command in commands(exported, queued=queued)] == ids


def test_programs_get_a_list(tmp_path: Path) -> None:
    """The JSON form tells nodes, GPUs and what to do for each job."""
    rows = json.loads(
        slurm_json(commands(solved.exported(tmp_path, solved.instance([_job("odd", 13)], {"a": 8, "b": 5}))))
    )
    assert [(row["job"], row["nodes"], row["action"], row["slurm_job_id"]) for row in rows] == [
        ("odd", {"a": 8, "b": 5}, "submit", None)
    ]
    assert rows[0]["node_lists"][0] == {"nodelist": "a", "nodes": 1, "gpus_per_node": 8}
