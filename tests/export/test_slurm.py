"""The script for Slurm, obeyed by stand-ins of its commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crop_cli.errors import InputError, UsageError
from crop_cli.export.placed import read_exported
from crop_cli.export.slurm import commands, slurm_json
from tests.export import solved
from tests.export.obeyed import changes, job, obeyed, queued, script

AWKWARD = 'it\'s $HOME; `a` "name" \\ #x'


def test_an_even_split_is_one_request(tmp_path: Path) -> None:
    """Nodes, their number and the GPUs of each are fixed; cores and memory per GPU are asked for."""
    data = solved.instance([job("bert", 16, resources_per_gpu={"cpu": 4, "memory_gib": 2.5})])
    for node in data["cluster"]["nodes"]:
        node["resources"] = {"cpu": 64, "memory_gib": 64}
    said, _ = obeyed(tmp_path, script(solved.exported(tmp_path, data)))
    options = ["--nodes=2", "--nodelist=n[1-2]", "--gpus-per-node=8", "--cpus-per-gpu=4", "--mem-per-gpu=2560M"]
    assert said == [["sbatch", "--job-name=bert", *options, "./bert.sh"]]


def test_an_uneven_split_is_a_heterogeneous_job(tmp_path: Path) -> None:
    """One component per number of GPUs, most first."""
    data = solved.instance([job("odd", 13)], {"a": 8, "b": 5})
    said, _ = obeyed(tmp_path, script(solved.exported(tmp_path, data)))
    first = ["--nodes=1", "--nodelist=a", "--gpus-per-node=8"]
    assert said == [
        ["sbatch", "--job-name=odd", *first, ":", "--nodes=1", "--nodelist=b", "--gpus-per-node=5", "./odd.sh"]
    ]


def test_names_reach_slurm_as_they_are(tmp_path: Path) -> None:
    """Blanks, quotes and what a shell would expand are part of the name."""
    exported = solved.exported(tmp_path, solved.instance([job(AWKWARD, 8), job("99-" + AWKWARD, 8)]))
    said, _ = obeyed(tmp_path, script(exported, "jobs/{job}.sh", queued=True), {"99": queued(AWKWARD)})
    (submitted,) = [call for call in said if call[0] == "sbatch"]
    assert submitted[1] == f"--job-name={AWKWARD}"
    assert submitted[-1] == f"jobs/{AWKWARD}.sh"
    assert ["scontrol", "update", "JobId=99"] in [call[:3] for call in said]


def test_no_text_of_a_solution_ends_its_comment(tmp_path: Path) -> None:
    """Line ends in a file that was not checked do not become commands."""
    _, path = solved.write(tmp_path, solved.instance([job("a", 16), job("b", 12)]))
    file = Path(path)
    evil = "x\nfalse\r\nexit 3\u2028exit 3"
    solution = json.loads(file.read_text())
    solution.update(crop_version=evil, instance={"name": evil, "sha256": evil})
    solution["solver"]["name"] = evil
    solution["placements"][0]["job"] = evil
    solution["unplaced"][0].update(job="y" + evil, reason=evil)
    file.write_text(json.dumps(solution))
    said, _ = obeyed(tmp_path, script(read_exported([path])))
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
    exported = solved.exported(tmp_path, solved.instance([job("17-bert", 16)]))
    queue = {"17": queued("bert", reason="JobHeldUser", show=f"NumNodes=2 {asked} Power=")}
    said, _ = obeyed(tmp_path, script(exported), queue)
    update = ["scontrol", "update", "JobId=17", "ReqNodeList=n[1-2]", "NumNodes=2-2", f"Gres=gpu:{kind}8"]
    assert changes(said) == [update[1:], ["release", "17"]]


@pytest.mark.parametrize(
    ("queue", "says"),
    [
        ({"17": queued("bert", state="RUNNING")}, "it is RUNNING, not PENDING"),
        ({"17": queued("other")}, "it is called other, not bert"),
        ({}, "it is not in the queue, not PENDING"),
    ],
)
def test_other_jobs_are_left_alone(tmp_path: Path, queue: dict[str, dict[str, str]], says: str) -> None:
    """A job that runs, ended, or has a number that now is another job's, is not touched, and that is said."""
    exported = solved.exported(tmp_path, solved.instance([job("17-bert", 16)]), with_instance=False)
    said, told = obeyed(tmp_path, script(exported), queue)
    assert not [call for call in said if call[0] != "squeue"]
    assert says in told


def test_what_runs_on_is_no_command(tmp_path: Path) -> None:
    """With the instance, running jobs that stay are comments only, and jobs that wait too."""
    data = solved.instance([job("1-runs", 8, placement={"n1": 8}), job("2-starts", 8), job("3-waits", 8)])
    exported = solved.exported(tmp_path, data)
    assert [(command.slurm_id, command.argv[0]) for command in commands(exported)] in (
        [("2", "place")],
        [("3", "place")],
    )
    assert '#   "1-runs": 8 GPUs on 1 node' in script(exported)
    assert "# Not placed:" in script(exported)


def test_a_job_that_slurm_does_not_know_cannot_move(tmp_path: Path) -> None:
    """Without a number there is nothing to requeue."""
    data = solved.instance([job("mover", 2, placement={"n1": 2}, movable=True), job("big", 8)], {"n1": 8, "n2": 2})
    with pytest.raises(UsageError, match="no Slurm job number"):
        commands(solved.exported(tmp_path, data))


def test_a_node_that_would_be_read_as_a_list_is_refused(tmp_path: Path) -> None:
    """A comma or bracket in a node's name would send the job somewhere else."""
    with pytest.raises(InputError, match=r'found "n1,n2"'):
        commands(solved.exported(tmp_path, solved.instance([job("a", 8)], {"n1,n2": 8})))


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
    exported = solved.exported(tmp_path, solved.instance([job(name, 2, weight=9 - i) for i, name in enumerate(names)]))
    assert [command.slurm_id for command in commands(exported, queued=queued)] == ids


def test_programs_get_a_list(tmp_path: Path) -> None:
    """The JSON form tells nodes, GPUs and what to do for each job."""
    rows = json.loads(
        slurm_json(commands(solved.exported(tmp_path, solved.instance([job("odd", 13)], {"a": 8, "b": 5}))))
    )
    assert [(row["job"], row["nodes"], row["action"], row["slurm_job_id"]) for row in rows] == [
        ("odd", {"a": 8, "b": 5}, "submit", None)
    ]
    assert rows[0]["node_lists"][0] == {"nodelist": "a", "nodes": 1, "gpus_per_node": 8}
