"""The script for jobs of a live queue that move or are submitted again, obeyed by stand-ins of Slurm's commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.export import solved
from tests.export.obeyed import changes, job, obeyed, queued, script

MOVE = solved.instance(
    [{"name": "1-mover", "gpus": 2, "placement": {"n1": 2}, "movable": True}, {"name": "2-big", "gpus": 8}],
    {"n1": 8, "n2": 2},
)


MOVING = {"1": queued("mover", state="RUNNING"), "2": queued("big")}
BIG = ["update", "JobId=2", "ReqNodeList=n1", "NumNodes=1-1", "Gres=gpu:8"]
MOVER = ["update", "JobId=1", "ReqNodeList=n2", "NumNodes=1-1", "Gres=gpu:2"]


def _move(tmp_path: Path) -> str:
    """The script of a move; a requeued job is pending at once."""
    made = script(solved.exported(tmp_path, MOVE))
    return made.replace("left[$1]=1", "left[$1]=1\nQUEUE=${QUEUE/RUNNING/PENDING}", 1)


def test_a_moving_job_gives_up_its_gpus_to_those_that_are_bound_to_them(tmp_path: Path) -> None:
    """What starts gets its nodes before they are free; then come the requeues; the movers are sent on and released."""
    said, told = obeyed(tmp_path, _move(tmp_path), MOVING)
    assert changes(said) == [
        BIG,
        ["requeuehold", "1"],
        MOVER,
        ["update", "JobId=1", "StartTime=now"],
        ["release", "1"],
    ]
    assert not told


@pytest.mark.parametrize("queue", [{}, {"1": queued("mover", "COMPLETED")}, {"1": queued("other", "RUNNING")}])
def test_what_was_to_move_and_runs_no_more_is_left_alone(tmp_path: Path, queue: dict[str, dict[str, str]]) -> None:
    """A job that has ended, or whose number is another's now, is not requeued, and the others start."""
    said, told = obeyed(tmp_path, _move(tmp_path), {**queue, "2": queued("big")})
    assert changes(said) == [BIG]
    assert "job 1 (mover) is left alone" in told


@pytest.mark.parametrize(
    ("queue", "says"),
    [
        ({"2": queued("big", "RUNNING")}, "job 2 (big) is left alone: it is RUNNING, not PENDING"),
        ({"2": queued("other")}, "it is called other, not big"),
        ({"1": queued("mover", "RUNNING", lines="   Requeue=0 BatchFlag=1")}, "job 1 (mover): it cannot be requeued"),
        ({"1": queued("mover", "RUNNING", lines="   Requeue=1 BatchFlag=0")}, "job 1 (mover): it cannot be requeued"),
    ],
)
def test_nothing_is_stopped_for_a_queue_that_has_changed(
    tmp_path: Path, queue: dict[str, dict[str, str]], says: str
) -> None:
    """Where running jobs are to move, the script does nothing unless all that is to start waits and all can move."""
    said, told = obeyed(tmp_path, _move(tmp_path), MOVING | queue, code=1)
    assert changes(said) == []
    assert says in told
    assert "nothing is done: import the queue again" in told


def test_nothing_is_stopped_for_a_job_that_slurm_does_not_place(tmp_path: Path) -> None:
    """If an update is refused before the first requeue, there is none."""
    said, told = obeyed(tmp_path, _move(tmp_path), MOVING, broken="JobId=2", code=1)
    assert changes(said) == [BIG]
    assert "job 2 (big): Slurm does not place it" in told
    assert "no running job is stopped" in told


def test_a_requeued_job_is_released_whatever_happens(tmp_path: Path) -> None:
    """A mover whose update is refused does not stay held."""
    said, told = obeyed(tmp_path, _move(tmp_path), MOVING, broken="JobId=1", code=1)
    assert changes(said) == [BIG, ["requeuehold", "1"], MOVER, ["update", "JobId=1", "StartTime=now"], ["release", "1"]]
    assert "job 1 was requeued and is released" in told


def test_one_refused_update_does_not_keep_others_waiting(tmp_path: Path) -> None:
    """Without moves the jobs do not hang together: the others are placed, and the exit code is 1."""
    exported = solved.exported(tmp_path, solved.instance([job("1-a", 8), job("2-b", 8)]))
    said, told = obeyed(tmp_path, script(exported), {"1": queued("a"), "2": queued("b")}, broken="JobId=1", code=1)
    assert {call[1] for call in changes(said)} == {"JobId=1", "JobId=2"}
    assert "job 1 (a): Slurm does not place it" in told


ODD = {"a": 8, "b": 5}


KEPT = "#SBATCH --mem=4G\n#SBATCH -p x -c 2\n"
REST = "#SBATCH --mem-bind=local\n#SBATCH --comment=kept\ntrain\n"


def _resubmitted(
    tmp_path: Path, as_user: int, name: str = "odd", needs: dict[str, float] | None = None
) -> tuple[list[list[str]], str]:
    """What an uneven split of a job of user 1234 becomes for another user."""
    data = solved.instance([job(f"17-{name}", 13, resources_per_gpu=needs or {})], ODD)
    for node in data["cluster"]["nodes"]:
        node["resources"] = {"cpu": 64, "memory_gib": 64}
    made = script(solved.exported(tmp_path, data))
    lines = "   StdErr=/logs/x y.err\n   StdIn=/dev/null\n   StdOut=/logs/17.out"
    made = made.replace("$EUID", str(as_user)).replace("EUID", str(as_user)).replace("env -i", "env")
    return obeyed(tmp_path, made, {"17": queued(name, lines=lines)})


@pytest.mark.parametrize("name", ["odd", "x UserId=root(0) GroupId=root(0) WorkDir=/root StdOut=/etc/passwd"])
@pytest.mark.parametrize("as_user", [0, 1234])
def test_an_uneven_split_of_a_queued_job_is_submitted_for_its_user(tmp_path: Path, as_user: int, name: str) -> None:
    """It keeps partition, time limit, folder and files; a name that looks like another field gives it no other user."""
    said, told = _resubmitted(tmp_path, as_user, name)
    (submitted,) = [call for call in said if call[0] == "sbatch"]
    user = ["--uid=1234", "--gid=5678"] if as_user == 0 else []
    same = ["--partition=main", "--time=1:00:00", "--chdir=/home/a b", "--output=/logs/17.out", "--error=/logs/x y.err"]
    assert submitted[1:-1] == [
        "--parsable", f"--job-name={name}", *user, *same, "--nodes=1", "--nodelist=a", "--gpus-per-node=8", ":",
        "--nodes=1", "--nodelist=b", "--gpus-per-node=5",
    ]  # fmt: skip
    assert ["script", f"#!/bin/sh\n{KEPT}{REST}"] in said
    assert said[-1] == ["scancel", "17"]
    assert "is now the heterogeneous job 99" in told


def test_cores_and_memory_of_a_gpu_replace_those_of_the_script(tmp_path: Path) -> None:
    """Slurm takes no --mem with --mem-per-gpu, and no --cpus-per-task with --cpus-per-gpu."""
    said, _ = _resubmitted(tmp_path, 1234, needs={"cpu": 2, "memory_gib": 1})
    assert ["script", f"#!/bin/sh\n{REST}"] in said


def test_a_job_is_not_submitted_as_another_user(tmp_path: Path) -> None:
    """An operator who is not root would run the user's script as himself."""
    said, told = _resubmitted(tmp_path, 4321)
    assert not [call for call in said if call[0] in ("sbatch", "scancel")]
    assert "job 17 (odd) is left alone: only its user or root can submit it again" in told


def test_a_task_of_an_array_is_not_made_a_heterogeneous_job(tmp_path: Path) -> None:
    """Its script would miss the number of its task."""
    exported = solved.exported(tmp_path, solved.instance([job("17_3-odd", 13)], ODD))
    said, told = obeyed(tmp_path, script(exported), {"17_3": queued("odd")})
    assert said == []
    assert "job 17_3 (odd) is left alone: a task of an array" in told
