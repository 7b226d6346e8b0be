"""The requests of a trial as rows: what was planned beside what each generator process saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from poolexp.arrivals import ArrivalSchedule
from poolexp.generator_process import Column
from poolexp.landing import REQUESTS
from poolexp.orders import share_of
from poolexp.request_log import COLUMNS, INSTANTS, NEVER, OUTCOMES


@dataclass(frozen=True, slots=True)
class Seen:
    """What one generator process left: its columns, and SQLSTATEs by its own request numbers."""

    columns: Mapping[str, Column]
    sqlstate: Mapping[str, str]


def open_loop_rows(planned: ArrivalSchedule, seen: Sequence[Seen]) -> pa.Table:
    """Every planned request as a row, in the order of the plan."""
    columns = {name: np.empty(len(planned), np.int64) for name in COLUMNS}
    sqlstate: dict[int, str] = {}
    for process, part in enumerate(seen):
        share = np.array(share_of(planned, process, len(seen)), np.int64)
        for name, column in columns.items():
            column[share] = part.columns[name]
        sqlstate |= {int(share[int(own)]): state for own, state in part.sqlstate.items()}
    columns["scheduled_ns"] = np.array(planned.planned_ns, np.int64)
    return _table(columns, sqlstate, planned.burst, planned.position, planned.warm_up_ns)


def closed_loop_rows(warm_up_ns: int, seen: Sequence[Seen]) -> pa.Table:
    """Every request that was begun, in the order in which its worker was ready."""
    columns = {name: np.concatenate([part.columns[name] for part in seen]) for name in COLUMNS}
    order = np.argsort(columns["scheduled_ns"], kind="stable")
    place = np.argsort(order, kind="stable")
    sqlstate: dict[int, str] = {}
    first = 0
    for part in seen:
        sqlstate |= {int(place[first + int(own)]): state for own, state in part.sqlstate.items()}
        first += len(part.columns["scheduled_ns"])
    columns = {name: column[order] for name, column in columns.items()}
    lone = np.arange(len(order)), np.zeros(len(order), np.int64)
    return _table(columns, sqlstate, *lone, warm_up_ns)


def _table(
    columns: Mapping[str, Column],
    sqlstate: Mapping[int, str],
    burst: Sequence[int] | npt.NDArray[Any],
    position: Sequence[int] | npt.NDArray[Any],
    warm_up_ns: int,
) -> pa.Table:
    scheduled_ns = columns["scheduled_ns"]
    count = len(scheduled_ns)
    optional = {
        name: pa.array(columns[name], mask=columns[name] == NEVER)
        for name in (*INSTANTS, "backend_pid")
    }
    values = {
        "seq": pa.array(range(count)),
        "burst": pa.array(burst),
        "burst_position": pa.array(position),
        "warm_up": pa.array(scheduled_ns < warm_up_ns),
        "scheduled_ns": pa.array(scheduled_ns),
        "outcome": pa.array([OUTCOMES[code] for code in columns["outcome"]], pa.string()),
        "sqlstate": pa.array([sqlstate.get(seq) for seq in range(count)], pa.string()),
        **optional,
    }
    return pa.table([values[field.name].cast(field.type) for field in REQUESTS], schema=REQUESTS)
