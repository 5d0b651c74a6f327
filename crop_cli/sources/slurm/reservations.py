"""Reservations of `scontrol show reservation`, in text or JSON."""

from __future__ import annotations

from typing import Any

from crop_cli.sources.slurm.forms import decoded, document, each, is_json, text_records
from crop_cli.sources.slurm.hostlists import expand
from crop_cli.sources.slurm.records import Input, Reservation
from crop_cli.sources.slurm.text import Record
from crop_cli.sources.slurm.values import number, text

EXPECTED = "reservations: what `scontrol show reservation` prints (--json or not)"


def read_reservations(source: Input) -> list[Reservation]:
    """All reservations of a file, in its order.

    JSON has no state: a reservation counts as active if it began before the document's last update. (The nodes' own
    states tell those of active ones too.)

    Raises
    ------
    InputError
        If it is something else, or with every record that cannot be read.
    """
    content = decoded(source)
    if not is_json(content):
        rows = text_records(source, content, ("ReservationName",), EXPECTED)
        return each(source, rows, _of_text, lambda _, row: f"line {row.line}")
    whole, objects = document(source, content, ("reservations",), EXPECTED)
    now = number(whole.get("last_update")) or 0.0

    def of_json(row: dict[str, Any]) -> Reservation:
        return Reservation(
            str(row["name"]), tuple(expand(text(row.get("node_list")))), (number(row.get("start_time")) or 0.0) <= now
        )

    return each(source, objects, of_json, lambda i, _: f"$.reservations[{i}]")


def _of_text(row: Record) -> Reservation:
    return Reservation(
        row.pairs["ReservationName"], tuple(expand(row.get("Nodes"))), row.pairs.get("State", "ACTIVE") == "ACTIVE"
    )
