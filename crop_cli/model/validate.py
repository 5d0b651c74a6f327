"""Whether an instance makes sense, beyond the types of its fields: every defect at once, with its JSON path.

The checks go from single values over the tree to what runs on it. One that combines several values is left out where
one of them is already known to be wrong, so that one slip is reported once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from crop_cli.errors import Defect
from crop_cli.model.findings import Findings
from crop_cli.model.instance import Instance
from crop_cli.model.validate_cluster import check_cluster, shared_name_warnings
from crop_cli.model.validate_fields import check_name, check_numbers
from crop_cli.model.validate_fit import fit_warnings
from crop_cli.model.validate_jobs import check_jobs, job_warnings
from crop_cli.model.validate_running import check_running

_SECTIONS = (
    "$.format",
    "$.name",
    "$.cluster.levels",
    "$.cluster.switches",
    "$.cluster.nodes",
    "$.cluster",
    "$.objective",
    "$.jobs",
)


def validate(instance: Instance, structural: Iterable[Defect] = ()) -> tuple[list[Defect], list[str]]:
    """Check an instance.

    Parameters
    ----------
    instance
        The decoded file.
    structural
        Defects already found in decoding. At their paths the instance holds stand-ins, which are not judged.

    Returns
    -------
    defects
        Everything wrong, `structural` included, in the order of the format's sections and of their lists.
    warnings
        What is allowed but surely not meant; looked for only in an instance without defects.
    """
    findings = Findings(structural)
    if instance.name:
        check_name(findings, "$.name", instance.name)
    check_cluster(findings, instance.cluster)
    check_numbers(findings, "$.objective", instance.objective)
    check_jobs(findings, instance)
    check_running(findings, instance)
    if findings.defects:
        return sorted(findings.defects, key=_position), []
    return [], [*shared_name_warnings(instance.cluster), *job_warnings(instance), *fit_warnings(instance)]


def _position(defect: Defect) -> tuple[int, int]:
    """Where a defect stands in the file: its section, and the element of the section's list."""
    section = next((s for s, name in enumerate(_SECTIONS) if defect.path.startswith(name)), 0)
    index = re.match(r"[$.\w]+\[(\d+)\]", defect.path)
    return section, int(index.group(1)) if index else -1
