"""Variants: conditions of one run that differ in the server, its version, its settings or the work.

They are a factor like any other, so what is compared was measured interleaved, in the same blocks
with the same requests. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from poolexp.tables import Name, Positive, Table
from poolexp.workload import Calibrated, Workload

PROGRAMS = ("postgres", "initdb")
"""What a folder of PostgreSQL's programs must hold."""


class Variant(Table):
    """One level of the factor.

    Attributes:
        settings: PostgreSQL's, on top of those of `[database]`.
        pg_bin: a folder of other PostgreSQL programs, beside the experiment's file or absolute.
        work: factor on what calibration found: 1.25 is a quarter more real work a request.
        programs: where `pg_bin` is; whoever reads the experiment's file fills it in. It is no
            part of the digest, for a copy of the file elsewhere is the same experiment.

    """

    name: Name
    settings: dict[str, str] = {}
    pg_bin: str | None = Field(default=None, min_length=1)
    work: Positive = 1.0
    programs: Path | None = Field(default=None, exclude=True, repr=False)

    @property
    def condition(self) -> tuple[object, ...]:
        """All that a request meets: variants that agree in it differ in their names alone."""
        return tuple(sorted(self.settings.items())), self.pg_bin, self.work


@dataclass(frozen=True, slots=True)
class WantedServer:
    """A server that has to run, for all variants that need the same one.

    Attributes:
        group: the name of its control group.
        variants: their names; None where the experiment has no variants.
        pg_bin: the folder of its programs; None for those that come with this package.

    """

    group: str
    variants: tuple[str | None, ...]
    settings: Mapping[str, str]
    pg_bin: Path | None


def wanted_servers(
    variants: Sequence[Variant], settings: Mapping[str, str], pg_bin: Path | None
) -> tuple[WantedServer, ...]:
    """The servers of an experiment, the first one for its first variant.

    `settings` and `pg_bin` hold where a variant says nothing else. Variants that agree in both
    share a server.
    """
    needs: dict[_Need, list[str | None]] = {}
    for variant in variants:
        whole = tuple(sorted({**settings, **variant.settings}.items()))
        needs.setdefault(_Need(whole, variant.programs or pg_bin), []).append(variant.name)
    return tuple(
        WantedServer(
            group="database" if number == 1 else f"database-{number}",
            variants=tuple(names),
            settings=dict(need.settings),
            pg_bin=need.pg_bin,
        )
        for number, (need, names) in enumerate(
            (needs or {_Need(tuple(settings.items()), pg_bin): [None]}).items(), start=1
        )
    )


@dataclass(frozen=True, slots=True)
class _Need:
    """What makes two servers the same."""

    settings: tuple[tuple[str, str], ...]
    pg_bin: Path | None


def with_work(workload: Workload, found: Mapping[str, int], work: float) -> dict[str, int]:
    """The values that calibration found for a workload, for `work` times as much work.

    Work grows in proportion to the calibrated length; where that would pass its `max`, the
    parameter that takes the overflow is raised so that their product is as it must be.

    Raises:
        ValueError: the length has no room for so much, and nothing takes the overflow.

    """
    if workload.calibrated is None or work == 1:
        return dict(found)
    name, parameter = workload.calibrated
    wanted = found[name] * work
    if wanted <= parameter.max:
        return {**found, name: max(1, round(wanted))}
    return {**found, **_overflown(name, parameter, found, wanted)}


def _overflown(
    name: str, parameter: Calibrated, found: Mapping[str, int], wanted: float
) -> dict[str, int]:
    if parameter.overflow is None or parameter.overflow not in found:
        raise ValueError(
            f"so much work takes {name} = {wanted:.0f}, and its max is {parameter.max}: "
            "raise it, or name a parameter that takes the overflow"
        )
    product = wanted * found[parameter.overflow]
    overflow = math.ceil(product / parameter.max)
    return {name: max(1, round(product / overflow)), parameter.overflow: overflow}
