"""From records to jobs: named models, batch sizes, drawn models, types and resources."""

from __future__ import annotations

from crop_cli.sources.profiles import Profile, Profiles, load_profiles
from crop_cli.sources.traces import gavel
from crop_cli.sources.traces.models import Maker
from crop_cli.sources.traces.reading import Record

TABLE = load_profiles()


def maker(*types: str, seed: int = 0, resources: set[str] | None = None) -> Maker:
    """For a cluster of these types."""
    return Maker(TABLE, seed, list(types or ("A100",)), resources=set() if resources is None else resources)


def record(name: str = "j", gpus: int = 2, **fields: object) -> Record:
    """A record of two GPUs."""
    return Record(name, gpus, 0.0, duration_s=1.0, **fields)  # type: ignore[arg-type]


def test_a_named_model_of_a_measured_batch() -> None:
    """ResNet-50 of 64 samples on an A100: the row of the table."""
    made = maker()
    job = made.job(record(model="ResNet-50", batch=64))
    assert job is not None
    assert (job.compute_s, job.message_mb, job.overlap) == (0.146135, 102.24, 0.1)
    assert made.assumptions()[0].startswith("1 job: resnet-50-b64 of models.csv (")


def test_a_batch_that_was_not_measured_takes_the_nearest() -> None:
    """By ratio: 90 is nearer to 64 than to 128, 91 to 128; and so it is said."""
    made = maker()
    jobs = [made.job(record(model="vgg16", batch=batch)) for batch in (90, 91)]
    assert [job.compute_s for job in jobs if job is not None] == [0.197901, 0.380985]
    assert "2 jobs: its batch size was not measured: the nearest one that was." in made.assumptions()


def test_a_model_without_batch_sizes_is_taken_as_it_is() -> None:
    """LLaMA was measured with one."""
    job = maker().job(record(model="llama2-7b", batch=5))
    assert job is not None
    assert job.compute_s == 45.79


def test_an_unknown_name_is_the_stand_in() -> None:
    """No model is drawn for a job that names one."""
    made = maker()
    job = made.job(record(model="alexnet"))
    assert job is not None
    assert job.message_mb == TABLE.stand_in.message_mb
    assert made.assumptions()[0].startswith("1 job: model unknown")


def test_drawn_models_do_not_depend_on_other_jobs() -> None:
    """Name and seed decide; another seed draws otherwise."""
    records = [record(f"j{i}") for i in range(40)]
    alone = [maker().job(each) for each in reversed(records)][::-1]
    made = maker()
    assert [made.job(each) for each in records] == alone
    assert [maker(seed=1).job(each) for each in records] != alone
    assert "40 jobs: the source names no model: drawn by size with seed 0." in made.assumptions()


def test_models_are_drawn_by_size_among_those_measured_there() -> None:
    """Messages up to 200 MB on one GPU are dropped with it; 2 to 8 GPUs up to 1000 MB; more from 300 MB on."""
    made = maker()
    middle = {made.job(record(f"j{i}", gpus=4)).message_mb for i in range(200)}  # type: ignore[union-attr]
    large = {made.job(record(f"j{i}", gpus=16)).message_mb for i in range(200)}  # type: ignore[union-attr]
    assert middle == {95.32, 102.24, 108.82, 440, 496, 553.44}
    assert large == {440, 496, 553.44, 13477}


def test_a_table_without_a_fitting_model_draws_from_all() -> None:
    """A user's table may have one model only."""
    profiles = Profiles({"*": TABLE.stand_in, "m": Profile("m", {"k80": 1.0}, 0.0, "allreduce", 0.0, "s")}, "mine.csv")
    made = Maker(profiles, 0, ["A100"])
    assert {made.job(record(gpus=gpus)).message_mb for gpus in (1, 4, 64)} == {0.0}  # type: ignore[union-attr]
    assert any("m of mine.csv" in text for text in made.assumptions())


def test_an_empty_table_draws_the_stand_in() -> None:
    """Nothing else is there."""
    job = Maker(Profiles({"*": TABLE.stand_in}, "mine.csv"), 0, ["A100"]).job(record())
    assert job is not None
    assert job.message_mb == TABLE.stand_in.message_mb


def test_allowed_types_are_found_as_the_cluster_calls_them() -> None:
    """V100 allows Tesla-V100; types that nobody has rule the job out."""
    made = maker("NVIDIA-A100", "Tesla-V100", resources=set())
    job = made.job(record(model="resnet-50", gpu_types=("V100", "T4")))
    assert job is not None
    assert job.compute_s == {"Tesla-V100": 0.400518}
    assert made.job(record("k", gpu_types=("T4",))) is None
    assert [(skip.name, skip.reason) for skip in made.skipped] == [("k", "no node has a GPU type that it may use")]


def test_without_a_cluster_types_stay_as_the_source_has_them() -> None:
    """Each with its seconds."""
    job = Maker(TABLE, 0, ["A100"]).job(record(model="resnet-50", gpu_types=("V100M16", "G2")))
    assert job is not None
    assert job.compute_s == {"V100M16": 0.400518, "G2": 0.27357}


def test_resources_that_the_cluster_does_not_state_are_left_out() -> None:
    """Else no node had room; and so it is said."""
    made = maker(resources={"cpu"})
    job = made.job(record(model="bert", resources_per_gpu={"cpu": 4.0, "memory_gib": 8.0}))
    assert job is not None
    assert job.resources_per_gpu == {"cpu": 4.0}
    assert "1 job: need of memory_gib left out: the cluster's nodes do not state it." in made.assumptions()


def test_pods_of_several_gpus_are_within_a_node() -> None:
    """Of the level that the cluster calls its nodes; one GPU needs no constraint."""
    made = Maker(TABLE, 0, ["A100"], level="host", resources=set())
    within = [made.job(record(gpus=gpus, one_node=True)).within for gpus in (1, 2)]  # type: ignore[union-attr]
    assert within == [None, "host"]


def test_a_batch_of_no_samples_is_none() -> None:
    """The trace is read as if it named no batch."""
    reading = gavel.read(b"ResNet-50 (batch size 0)\tc\t-n\t1\t5\t0\t1\n", "f")
    (found,) = reading.records
    assert found.batch is None
    assert maker("V100").job(found) is not None
