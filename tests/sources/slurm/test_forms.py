"""Files that cannot be used, and oddities of those that can."""

from __future__ import annotations

import gzip
import json

import pytest

from crop_cli.errors import InputError, UsageError
from crop_cli.sources.slurm.draft import Options, read
from crop_cli.sources.slurm.forms import decoded, document, slim_document
from crop_cli.sources.slurm.jobs import checked, read_jobs
from crop_cli.sources.slurm.jobs_json import JobRow, job_of_json
from crop_cli.sources.slurm.nodes import read_nodes
from crop_cli.sources.slurm.records import Input, Share
from crop_cli.sources.slurm.reservations import read_reservations
from crop_cli.sources.slurm.text import records
from crop_cli.sources.slurm.values import count, number, text, words
from tests.sources.slurm.files import DATA, draft_of, given, node, nodes, reasons
from tests.sources.slurm.files import text as file_of

BAD_NODES = {
    "empty": ("", "an empty file"),
    "other": ("hello\n", '"hello"'),
    "jobs": ("JobId=1 JobName=a\n", "JobId=1"),
    "json-jobs": ('{"jobs": []}', '"jobs"'),
    "json-list": ("[1]", "a JSON list"),
    "json-broken": ('{"nodes": [', "broken JSON"),
    "json-error": ('{"errors": [{"error": "no"}]}', "an error of Slurm"),
    "json-rows": ('{"nodes": [1]}', r"nodes\[0\]"),
    "no-name": ('{"nodes": [{"gres": "gpu:4"}]}', "no name"),
    "count": ("NodeName=a\n   Gres=gpu:a100:x=y\n", "line 1"),
    "cpus": ("NodeName=a\n   Gres=gpu:4\n   CPUTot=many\n", "many"),
    "twice": (node("a") + node("a"), '"a" twice'),
}


@pytest.mark.parametrize("case", BAD_NODES)
def test_what_are_no_nodes(case: str) -> None:
    """A file without nodes, or with values that Slurm does not print, is refused with place, value and expectation."""
    content, message = BAD_NODES[case]
    with pytest.raises(InputError, match=message):
        read_nodes(file_of(content))


def test_not_utf8() -> None:
    """Bytes that are no UTF-8 are refused with their place."""
    with pytest.raises(InputError, match="byte 12"):
        read_nodes(Input("file", b"NodeName=abc\xff"))


def test_gzip_and_byte_order_mark() -> None:
    """Packed files and a byte order mark are read as they are meant."""
    packed = gzip.compress(b"\xef\xbb\xbf" + node("a").encode())
    assert [found.name for found in read_nodes(Input("file", packed))] == ["a"]


def test_windows_line_ends() -> None:
    """Line ends of Windows do not get into values."""
    found = read_nodes(file_of(node("a").replace("\n", "\r\n")))
    assert (found[0].name, found[0].state, found[0].gpus) == ("a", "IDLE", {"a100": 4})


def test_every_bad_record_is_told() -> None:
    """All records that cannot be read are named in one go."""
    bad = "JobId=1 JobName=a\n\nJobId=2 JobName=b\n   JobState=PENDING\n   NodeList=n[1-\n"
    with pytest.raises(InputError) as caught:
        read_jobs(file_of(bad))
    assert [defect.path for defect in caught.value.defects] == ["line 1", "line 3"]


@pytest.mark.parametrize("pair", ["TresPerNode=gres/gpu:a=x", "AllocTRES=cpu=many", "MinMemoryNode=?"])
def test_bad_requests_are_told_with_their_place(pair: str) -> None:
    """TRES that cannot be read are an error of the record, also where they would not be needed."""
    content = f"JobId=1 JobName=a\n   JobState=PENDING\n   {pair}\n"
    with pytest.raises(InputError, match="line 1"):
        read_jobs(file_of(content))


def test_a_node_that_was_cut_short_is_told() -> None:
    """A record that ends before its GPUs and state is no node without GPUs."""
    with pytest.raises(InputError, match="no Gres and State"):
        read_nodes(file_of(node("n1") + "NodeName=n2 Arch=x86_64\n   CPUAlloc=0 CPUTo"))


@pytest.mark.parametrize(
    ("names", "features", "allocated", "told"),
    [
        (["n1", "n2"], "ib", 0, True),
        (["n1", "n2"], "", 3, True),
        (["n1", "n2"], "", 0, False),
        (["n1", "n2"], "", 64, False),
        (["n1"], "ib", 3, False),
    ],
)
def test_what_sinfo_tells_of_groups_only(names: list[str], features: str, allocated: int, told: bool) -> None:
    """Features and CPUs in use of a group of nodes may be wrong for each of them, and that is a warning."""
    row = {
        "nodes": {"nodes": names},
        "node": {"state": ["MIXED"]},
        "gres": {"total": "gpu:a100:8", "used": "gpu:a100:8(IDX:0-7)"},
        "features": {"active": features},
        "cpus": {"allocated": allocated, "total": 32 * len(names), "minimum": 32},
    }
    draft = read(file_of(json.dumps({"sinfo": [row]})))
    assert any("told by groups" in warning for warning in draft.warnings) is told


def test_nothing_in_the_system() -> None:
    """No jobs and no reservations are no error; no answer at all is."""
    assert read_jobs(file_of("No jobs in the system\n")) == []
    assert read_reservations(file_of("No reservations in the system\n")) == []
    assert read_jobs(file_of('{"jobs": [], "errors": []}')) == []
    with pytest.raises(InputError, match="an empty file"):
        read_jobs(file_of(""))


def test_nan_of_old_releases() -> None:
    """JSON with NaN, which old releases print, is read."""
    content = '{"nodes": [{"name": "a", "gres": "gpu:2", "cpus": 4, "cpu_load": NaN, "tres_weighted": Infinity}]}'
    assert read_nodes(file_of(content))[0].gpus == {"": 2}


@pytest.mark.parametrize("folder", ["mixed-22.05", "mixed-24.11"])
def test_slim_rows(folder: str) -> None:
    """Decoding only the fields that are read gives the same jobs as decoding all of them."""
    source = given(DATA / folder / "squeue.json")
    content = decoded(source)
    _, rows = document(source, content, ("jobs",), "")
    assert read_jobs(source) == [checked(job_of_json(row)) for row in rows]
    assert len(slim_document(source, content, "jobs", JobRow, "")) == len(rows)


def test_mixture_of_generations() -> None:
    """Releases between the two write numbers as objects and hosts as lists: both are read at once."""
    host = {"nodename": "n1", "memory_allocated": 2048, "sockets": {"0": {"cores": {"0": "allocated"}}}}
    row = {
        "job_id": 4,
        "job_state": "RUNNING",
        "name": "a",
        "nodes": "n1",
        "gres_detail": ["gpu:a100:2(IDX:0-1)"],
        "node_count": {"set": True, "infinite": False, "number": 1},
        "job_resources": {"nodes": "n1", "allocated_nodes": [host]},
    }
    for hosts in ([host], {"0": host}):
        row["job_resources"] = {"nodes": "n1", "allocated_nodes": hosts}
        (job,) = read_jobs(file_of(json.dumps({"jobs": [row]})))
        assert job.shares == {"n1": Share({"a100": 2}, None, 2048)}
        assert job.node_count == 1


def test_rows_of_unexpected_types() -> None:
    """Where the hosts of a job are told in yet another way, the job is read without them."""
    content = '{"jobs": [{"job_id": 1, "job_state": "PENDING", "job_resources": [1], "name": "a"}]}'
    assert read_jobs(file_of(content))[0].name == "a"


def test_free_text_is_no_key() -> None:
    """Equals signs in comments, reasons and names do not overwrite fields."""
    content = "NodeName=a Arch=x\n   Gres=gpu:4\n   State=IDLE Weight=1\n   Comment=State=DOWN Gres=gpu:9\n"
    content += "   Reason=disk State=FAIL [root@2026-01-01T00:00:00]\n"
    (found,) = read_nodes(file_of(content))
    assert (found.state, found.gpus) == ("IDLE", {"": 4})
    line = "JobId=5 JobName=a JobState=FAILED b UserId=x(1) JobState=PENDING NodeList= NumNodes=1"
    assert records(line)[0].pairs["JobName"] == "a JobState=FAILED b"
    assert read_jobs(file_of(line))[0].states == ("PENDING",)


def test_no_gpus_at_all() -> None:
    """A cluster without a GPU is refused."""
    with pytest.raises(InputError, match="no node with a GPU"):
        draft_of(node("a", gres=""))


def test_unknown_partition() -> None:
    """A partition without nodes is refused, with those that there are."""
    with pytest.raises(UsageError, match="expected main"):
        draft_of(nodes(), partitions=("gpu",))


def test_unknown_and_missing_states() -> None:
    """An unknown state makes a node down; a missing one leaves it up; both are told."""
    draft = draft_of(node("n1", "SLEEPY") + node("n2").replace("   State=IDLE ThreadsPerCore=1", ""))
    assert [found.state for found in draft.nodes] == ["down", "up"]
    assert any("'SLEEPY' of 1 node" in told for told in draft.warnings)
    assert any("does not say the state of 1 node" in told for told in draft.warnings)


def test_type_from_a_feature() -> None:
    """Where the GRES has no type a feature that names a known one does, unless features name several."""
    content = node("n1", gres="gpu:4", ActiveFeatures="h100,ib") + node("n2", gres="gpu:4", ActiveFeatures="a100,h100")
    draft = draft_of(content)
    assert [found.gpu_type for found in draft.nodes] == ["h100", "gpu"]
    assert any("from a feature" in told for told in draft.assumptions)


def test_nodes_without_gpus_are_left_out() -> None:
    """Nodes without GPUs are counted and left out."""
    draft = draft_of(node("n1") + node("login", gres=""))
    assert (draft.counts["nodes"], len(draft.nodes), reasons(draft)) == (2, 1, {"login": "has no GPU"})


def test_memory_set_aside() -> None:
    """Memory and cores that are set aside for the system are not for jobs."""
    (found,) = draft_of(node("n1", MemSpecLimit="2048", CPUEfctv="30"), topology="").nodes
    assert found.resources == {"cpu": 30, "memory_gib": 98}


def test_a_resource_that_some_nodes_lack() -> None:
    """A resource that not every node states is left out, with a warning."""
    draft = draft_of(node("n1") + node("n2").replace("   RealMemory=102400\n", ""))
    assert all(set(found.resources) == {"cpu"} for found in draft.nodes)
    assert any("memory_gib" in told for told in draft.warnings)


def test_reservations() -> None:
    """Nodes of active reservations take no new work; one that has not begun is left out. Text and JSON agree."""
    content = "ReservationName=now StartTime=x\n   Nodes=n[1-2] NodeCnt=2\n   Users=root State=ACTIVE\n\n"
    content += "ReservationName=later StartTime=y\n   Nodes=n3 NodeCnt=1\n   Users=root State=INACTIVE\n"
    draft = read(file_of(nodes()), reservations=file_of(content))
    assert [found.state for found in draft.nodes] == ["drained", "drained", "up", "up"]
    assert reasons(draft) == {"later": "has not begun"}
    both = [
        read_reservations(given(DATA / "mixed-24.11" / f"scontrol_show_reservation.{form}")) for form in ("txt", "json")
    ]
    assert both[0] == both[1]


@pytest.mark.parametrize(
    "row", [{"name": "a", "start_time": 5}, {"name": "a", "start_time": {"set": True, "number": 5}}]
)
def test_reservation_in_json_that_has_not_begun(row: dict[str, object]) -> None:
    """In JSON a reservation that begins after the document's last update has not begun."""
    (found,) = read_reservations(file_of(json.dumps({"reservations": [row], "last_update": 4})))
    assert not found.active


def test_values_of_both_generations() -> None:
    """Numbers and lists mean the same as plain values and as objects."""
    assert number(4) == number({"set": True, "infinite": False, "number": 4}) == number("4") == 4
    assert number({"set": False, "infinite": False, "number": 4}) is None
    assert number({"set": True, "infinite": True, "number": 0}) is None
    assert number(None) is None
    assert count(None) == 0
    assert words("a,b") == words(["a", "b"]) == ("a", "b")
    assert text(["a", "b"]) == "a,b"
    for wrong in ([1], True):
        with pytest.raises(ValueError, match="no number"):
            number(wrong)


def test_name_and_source() -> None:
    """The instance has the name asked for, and says which files it is made of without their folders."""
    draft = read(Input("/some/where/nodes.txt", node("a").encode()), options=Options(name="ours"))
    assert (draft.name, draft.source) == ("ours", "Slurm: nodes.txt")
