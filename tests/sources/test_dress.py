"""From a draft to an instance: what is filled in, what is said, and that nothing is lost silently."""

from __future__ import annotations

import pytest

from crop_cli.errors import InputError
from crop_cli.model.instance import Job, Node, Switch
from crop_cli.sources.draft import Draft, DraftJob, Skipped
from crop_cli.sources.dress import dress, skipped_text
from crop_cli.sources.fabric import Fabric
from crop_cli.sources.profiles import Profile, Profiles

FABRIC = Fabric("thin", "made up", node_uplink_gbps=10)
PROFILES = Profiles(
    {
        "*": Profile("*", {"a100": 0.3}, 44.0, "allreduce", 0.1, "a usual model"),
        "moe": Profile("moe", {"a100": 0.5, "v100": 1.0}, 100.0, "alltoall", 0.2, "measured"),
    },
    "models.csv",
)


def draft(*jobs: DraftJob, types: tuple[str, ...] = ("A100", "V100")) -> Draft:
    """A rack with a node of each type, and some jobs."""
    return Draft(
        name="d",
        levels=["rack", "node"],
        switches=[Switch(name="r", level="rack")],
        nodes=[Node(name=f"n{i}", gpus=8, gpu_type=kind, parent="r") for i, kind in enumerate(types)],
        jobs=list(jobs),
        source="somewhere",
        licence="CC0-1.0",
        assumptions=["The importer assumed this."],
    )


def dressed(*jobs: DraftJob, types: tuple[str, ...] = ("A100", "V100")) -> list[Job]:
    """Jobs of the dressed draft."""
    return dress(draft(*jobs, types=types), PROFILES, FABRIC).instance.jobs


def test_a_known_model_brings_times_messages_and_pattern() -> None:
    """Seconds on every type of the cluster."""
    (job,) = dressed(DraftJob(Job(name="j", gpus=2), model="my-moe-run"))
    assert job.compute_s == {"A100": 0.5, "V100": 1.0}
    assert (job.message_mb, job.pattern, job.overlap) == (100.0, "alltoall", 0.2)


def test_one_time_for_all_types_is_written_as_a_number() -> None:
    """A cluster of one type needs no object; a constraint on types does."""
    free, bound = dressed(
        DraftJob(Job(name="j", gpus=2), model="moe"),
        DraftJob(Job(name="k", gpus=2), model="moe", gpu_types=("A100",)),
        types=("A100", "A100"),
    )
    assert (free.compute_s, bound.compute_s) == (0.5, {"A100": 0.5})


def test_allowed_types_limit_the_times() -> None:
    """Types that the job may not use, or that the cluster lacks, get none."""
    (job,) = dressed(DraftJob(Job(name="j", gpus=1), model="moe", gpu_types=("V100", "T4")))
    assert job.compute_s == {"V100": 1.0}


def test_types_that_the_cluster_lacks_altogether_stay() -> None:
    """The job can never be placed, which the validator says, but is not lost."""
    made = dress(draft(DraftJob(Job(name="j", gpus=1), model="moe", gpu_types=("V200",))), PROFILES, FABRIC)
    assert made.instance.jobs[0].compute_s == {"V200": 0.5}
    assert any("can never be placed" in warning for warning in made.warnings)


def test_one_worker_exchanges_nothing() -> None:
    """The message of a job of one GPU is 0."""
    assert dressed(DraftJob(Job(name="j", gpus=1), model="moe"))[0].message_mb == 0


def test_a_measured_job_is_taken_as_it_is() -> None:
    """Whatever model it names."""
    job = Job(name="j", gpus=4, compute_s=9.0, message_mb=8.0)
    assert dressed(DraftJob(job, model="moe", measured=True)) == [job]


def test_an_unknown_model_is_the_stand_in() -> None:
    """And so it is said, once for all such jobs."""
    jobs = [DraftJob(Job(name=f"j{i}", gpus=2), model=model) for i, model in enumerate((None, "", "secret"))]
    made = dress(draft(*jobs, types=("A100",)), PROFILES, FABRIC)
    assert {(job.compute_s, job.message_mb) for job in made.instance.jobs} == {(0.3, 44.0)}
    assert "3 jobs: model unknown, taken to be like a usual model." in made.instance.assumptions


def test_assumptions_are_in_the_instance_in_order() -> None:
    """The importer's, bandwidths, models, scaling, and what was left out."""
    whole = draft(DraftJob(Job(name="j", gpus=2), model="moe"), types=("A100", "T4"))
    whole.skipped = [Skipped("job", "k", "asks for no GPU")]
    assert dress(whole, PROFILES, FABRIC).instance.assumptions == [
        "The importer assumed this.",
        "Bandwidths of fabric thin (made up): a node's uplink: 10 Gbit/s.",
        "1 job: moe of models.csv (measured).",
        "1 job: moe was not measured on T4: 1.92 times its seconds on v100, by peak speeds.",
        "Left out: 1 job (k): asks for no GPU.",
    ]


def test_origin_and_counts_are_kept() -> None:
    """Name, source and licence; the source's own totals and warnings."""
    whole = draft()
    whole.counts = {"nodes": 2}
    whole.warnings = ["look here"]
    made = dress(whole, PROFILES, FABRIC)
    assert (made.instance.name, made.instance.source, made.instance.licence) == ("d", "somewhere", "CC0-1.0")
    assert (made.counts, made.warnings[0]) == ({"nodes": 2}, "look here")


def test_what_was_skipped_is_counted_by_kind_and_reason() -> None:
    """With the first three names."""
    whole = draft()
    whole.skipped = [Skipped("job", f"j{i}", "is over") for i in range(5)]
    whole.skipped += [Skipped("node", "n", "is over"), Skipped("job", "k", "has no GPU")]
    assert skipped_text(whole) == [
        "5 jobs (j0, j1, j2, …): is over",
        "1 node (n): is over",
        "1 job (k): has no GPU",
    ]


def test_a_draft_that_contradicts_itself_is_an_input_error() -> None:
    """Two jobs on the same GPUs: the source is named."""
    jobs = [DraftJob(Job(name=name, gpus=8, placement={"n0": 8}), measured=True) for name in ("a", "b")]
    with pytest.raises(InputError, match="somewhere"):
        dress(draft(*jobs), PROFILES, FABRIC)
