"""Tables of models: matching by words, scaling by peak speeds, every defect."""

from __future__ import annotations

from pathlib import Path

import pytest

from crop_cli.errors import Defect, InputError
from crop_cli.sources.profiles import (
    ANY,
    COLUMNS,
    Profile,
    gpu_types,
    load_profiles,
    measured_type,
    seconds_on,
)

HEAD = ",".join(COLUMNS) + "\n"
TABLE = load_profiles()


def table_of(folder: Path, *rows: str) -> Path:
    """A table with these rows as a file."""
    file = folder / "models.csv"
    file.write_text(HEAD + "".join(row + "\n" for row in rows), encoding="utf-8")
    return file


def defects_of(file: Path) -> list[Defect]:
    """What is wrong with a table."""
    with pytest.raises(InputError) as caught:
        load_profiles(str(file))
    return caught.value.defects


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("resnet-50", "resnet-50"),
        ("ResNet50", "resnet-50"),
        ("train_resnet_50.sh --amp", "resnet-50"),
        ("resnet-50-b64", "resnet-50-b64"),
        ("RESNET50_B64", "resnet-50-b64"),
        ("Llama-2-7B chat", "llama2-7b"),
        ("vit_base_patch16_224", "vit-base"),
        ("VGG 16", "vgg16"),
        ("my/LM (batch size 20)", "lm"),
        ("bert2", "bert"),
    ],
)
def test_a_model_is_found_by_words(text: str, name: str) -> None:
    """Case, dashes and what is around do not matter; the longest name of several is taken."""
    found = TABLE.match(text)
    assert found is not None
    assert found.model == name


@pytest.mark.parametrize("text", [None, "", "alarm", "resnet-500", "vgg161", "albert", "*", "film"])
def test_part_of_a_word_is_no_model(text: str | None) -> None:
    """A name inside another word is another word; nothing stands for the model of unknown jobs."""
    assert TABLE.match(text) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("NVIDIA-A100-SXM4-80GB", "a100"),
        ("nvidia_h100_80gb_hbm3", "h100"),
        ("Tesla V100-SXM2-32GB", "v100"),
        ("V100M32", "v100"),
        ("NVIDIA GeForce RTX 3090", "rtx-3090"),
        ("rtx3090", "rtx-3090"),
        ("NVIDIA L40S", "l40s"),
        ("NVIDIA L40", "l40"),
        ("NVIDIA L4", "l4"),
        ("NVIDIA-H20", "h20"),
        ("NVIDIA H200", "h200"),
        ("NVIDIA GB200", "gb200"),
        ("NVIDIA H100 PCIe", "h100-pcie"),
        ("NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"),
        ("AMD Instinct MI250X", "mi250x"),
        ("Tesla T4", "t4"),
        ("G2", None),
        ("gpu", None),
        ("A1000", None),
    ],
)
def test_a_gpu_type_is_found_by_words(text: str, name: str | None) -> None:
    """As drivers, clouds and schedulers spell it."""
    assert measured_type(text, gpu_types()) == name


def test_a_measured_type_takes_its_seconds() -> None:
    """No sentence is needed for a measurement."""
    profile = Profile("m", {"a100": 0.5, "v100": 1.0}, 10.0, "allreduce", 0.0, "s")
    assert seconds_on(profile, "NVIDIA-V100") == (1.0, None)


def test_an_unmeasured_type_is_scaled_from_the_nearest_speed() -> None:
    """H100 (989) is nearer to A100 (312) than to V100 (125): 0.5 · 312/989."""
    profile = Profile("m", {"a100": 0.5, "v100": 1.0}, 10.0, "allreduce", 0.0, "s")
    seconds, text = seconds_on(profile, "H100")
    assert seconds == pytest.approx(0.5 * 312 / 989)
    assert text == "m was not measured on H100: 0.315 times its seconds on a100, by peak speeds"


def test_an_unknown_type_is_taken_as_fast_as_the_fastest() -> None:
    """Nothing is known of G2, and so it is said."""
    profile = Profile("m", {"v100": 1.0, "a100": 0.5}, 10.0, "allreduce", 0.0, "s")
    assert seconds_on(profile, "G2") == (0.5, "m was not measured on G2: taken as fast as on a100")


def test_a_type_without_a_speed_cannot_be_scaled_from() -> None:
    """A measurement on a type that has no known speed is taken as it is."""
    profile = Profile("m", {"g2": 2.0}, 10.0, "allreduce", 0.0, "s")
    assert seconds_on(profile, "A100") == (2.0, "m was not measured on A100: taken as fast as on g2")


def test_rows_of_one_batch_are_one_profile(tmp_path: Path) -> None:
    """Types and sources join; without a batch size the name is the last batch; `*` comes from crop's own table."""
    file = table_of(
        tmp_path,
        "m,A100,8,0.5,10,allreduce,0.1,one",
        "m,v100,8,1.0,10,allreduce,0.1,two",
        "m,a100,16,0.9,10,allreduce,0.1,one",
        "n,a100,,2,20,alltoall,0,three",
    )
    found = load_profiles(str(file))
    assert found.table["m-b8"] == Profile("m-b8", {"a100": 0.5, "v100": 1.0}, 10.0, "allreduce", 0.1, "one | two")
    assert found.table["m"] == Profile("m", {"a100": 0.9}, 10.0, "allreduce", 0.1, "one")
    assert found.table["n"] == Profile("n", {"a100": 2.0}, 20.0, "alltoall", 0.0, "three")
    assert found.stand_in == TABLE.stand_in
    assert set(found.table) == {"m-b8", "m-b16", "m", "n", ANY}


def test_a_row_without_a_batch_is_not_hidden_by_one_with(tmp_path: Path) -> None:
    """The name alone means the row that has the name alone."""
    file = table_of(tmp_path, "m,a100,,1,10,allreduce,0,s", "m,a100,8,2,10,allreduce,0,s")
    assert load_profiles(str(file)).table["m"].compute_s == {"a100": 1.0}


def test_a_table_may_bring_its_own_stand_in(tmp_path: Path) -> None:
    """`*` of a file is taken before crop's."""
    assert load_profiles(str(table_of(tmp_path, "*,a100,,9,1,allreduce,0,mine"))).stand_in.source == "mine"


@pytest.mark.parametrize(
    ("row", "where", "found"),
    [
        ("m,a100,,0,10,allreduce,0,s", "line 2, compute_s", '"0"'),
        ("m,a100,,-1,10,allreduce,0,s", "line 2, compute_s", '"-1"'),
        ("m,a100,,nan,10,allreduce,0,s", "line 2, compute_s", '"nan"'),
        ("m,a100,,inf,10,allreduce,0,s", "line 2, compute_s", '"inf"'),
        ("m,a100,,fast,10,allreduce,0,s", "line 2, compute_s", '"fast"'),
        ("m,a100,,,10,allreduce,0,s", "line 2, compute_s", '""'),
        ("m,a100,,1,-0.5,allreduce,0,s", "line 2, message_mb", '"-0.5"'),
        ("m,a100,,1,10,allreduce,-0.5,s", "line 2, overlap", '"-0.5"'),
        ("m,a100,,1,10,allreduce,1.5,s", "line 2, overlap", '"1.5"'),
        ("m,a100,,1,10,ring,0,s", "line 2, pattern", '"ring"'),
        (",a100,,1,10,allreduce,0,s", "line 2, model", '""'),
        ("--,a100,,1,10,allreduce,0,s", "line 2, model", '"--"'),
        ("m,,,1,10,allreduce,0,s", "line 2, gpu_type", '""'),
        ("m,a100,,1,10", "line 2", "5 fields"),
        ("m,a100,,1,10,allreduce,0,s,more,still", "line 2", "10 fields"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(tmp_path: Path, row: str, where: str, found: str) -> None:
    """Line, column and value."""
    (defect,) = defects_of(table_of(tmp_path, row))
    assert (defect.path, defect.found) == (where, found)


def test_all_defects_are_listed_at_once(tmp_path: Path) -> None:
    """A sound row between broken ones hides none of them."""
    file = table_of(
        tmp_path, "m,a100,,0,-1,ring,2,s", "n,a100,,1,1,allreduce,0,s", ",,,x,1,allreduce,0,s", "o,a100,,1,1,x,0,s"
    )
    assert [defect.path for defect in defects_of(file)] == [
        "line 2, compute_s",
        "line 2, message_mb",
        "line 2, overlap",
        "line 2, pattern",
        "line 4, model",
        "line 4, gpu_type",
        "line 4, compute_s",
        "line 5, pattern",
    ]


def test_rows_that_contradict_each_other_are_named(tmp_path: Path) -> None:
    """One type twice, and another message, pattern or overlap for what is one model."""
    file = table_of(
        tmp_path, "m,a100,8,1,10,allreduce,0,s", "m,A100,8,2,10,allreduce,0,s", "m,v100,8,2,11,alltoall,0.5,s"
    )
    assert [(d.path, d.found) for d in defects_of(file)] == [
        ("line 3", "m-b8 on a100 once more"),
        ("line 4, message_mb", "11.0"),
        ("line 4, pattern", "alltoall"),
        ("line 4, overlap", "0.5"),
    ]


@pytest.mark.parametrize("text", ["", "model,gpu\n", "\x00\xff", "model;gpu_type;batch\n", '"'])
def test_another_kind_of_file_is_refused(tmp_path: Path, text: str) -> None:
    """The columns have to be those of the table."""
    file = tmp_path / "x.csv"
    file.write_text(text, encoding="latin-1")
    (defect,) = defects_of(file)
    assert (defect.path, defect.expected) == ("line 1", ", ".join(COLUMNS))


def test_a_field_beyond_all_measure_is_a_defect(tmp_path: Path) -> None:
    """The csv module's own limit comes out as a defect with its line."""
    (defect,) = defects_of(table_of(tmp_path, f"m,a100,,1,1,allreduce,0,{'x' * 200_000}"))
    assert defect.path.startswith("line ")


def test_a_missing_file_is_an_input_error() -> None:
    """The file is named."""
    with pytest.raises(InputError, match=r"none\.csv"):
        load_profiles("none.csv")


def test_the_stand_in_is_called_so_in_words() -> None:
    """Its name in the table, a star, says nothing to people."""
    _, text = seconds_on(TABLE.stand_in, "L40S")
    assert (
        text
        == "the stand-in for unknown models was not measured on L40S: 0.862 times its seconds on a100, by peak speeds"
    )


def test_of_names_in_one_text_the_longest_counts_and_of_equally_long_ones_the_first() -> None:
    """The order of the table decides, not that of the text."""
    assert measured_type("b2 and a1 and a-1-x", {"a1": 1.0, "b2": 1.0, "a1x": 1.0}) == "a1x"
    assert measured_type("b2 and a1", {"a1": 1.0, "b2": 1.0}) == "a1"


@pytest.mark.parametrize("batch", ["0", "-4", "1.5", "x", "1_0", "9" * 13])
def test_a_batch_is_a_whole_number_above_zero(tmp_path: Path, batch: str) -> None:
    """The nearest batch is looked for by ratio, which none of these has."""
    (defect,) = defects_of(table_of(tmp_path, f"m,a100,{batch},1,1,allreduce,0,here"))
    assert (defect.path, defect.expected) == ("line 2, batch", "a whole number above 0, or nothing")
