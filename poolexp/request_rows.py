"""The requests of a trial as rows: what was planned beside what each generator process saw."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from poolexp.arrivals import ArrivalSchedule
from poolexp.generator_process import Column
from poolexp.landing import REQUESTS
from poolexp.orders import share_of
from poolexp.request_log import COLUMNS, INSTANTS, NEVER, OUTCOMES, unpacked_sqlstate

Columns = Mapping[str, Column]
"""What one generator process left: its columns, by name."""


def open_loop_rows(planned: ArrivalSchedule, seen: Sequence[Columns]) -> pa.Table:
    """Every planned request as a row, in the order of the plan."""
    columns = {name: np.empty(len(planned), np.int64) for name in COLUMNS}
    for process, part in enumerate(seen):
        share = np.array(share_of(len(planned), process, len(seen)), np.int64)
        for name, column in columns.items():
            column[share] = part[name]
    columns["scheduled_ns"] = np.array(planned.planned_ns, np.int64)
    return _table(columns, planned.burst, planned.position, planned.warm_up_ns)


def closed_loop_rows(warm_up_ns: int, seen: Sequence[Columns]) -> pa.Table:
    """Every request that was begun, in the order in which its worker was ready."""
    columns = {name: np.concatenate([part[name] for part in seen]) for name in COLUMNS}
    order = np.argsort(columns["scheduled_ns"], kind="stable")
    columns = {name: column[order] for name, column in columns.items()}
    lone = np.arange(len(order)), np.zeros(len(order), np.int64)
    return _table(columns, *lone, warm_up_ns)


def _table(
    columns: Columns,
    burst: Sequence[int] | npt.NDArray[Any],
    position: Sequence[int] | npt.NDArray[Any],
    warm_up_ns: int,
) -> pa.Table:
    scheduled_ns = columns["scheduled_ns"]
    optional = {
        name: pa.array(columns[name], mask=columns[name] == NEVER)
        for name in (*INSTANTS, "backend_pid")
    }
    values = {
        "seq": pa.array(range(len(scheduled_ns))),
        "burst": pa.array(burst),
        "burst_position": pa.array(position),
        "warm_up": pa.array(scheduled_ns < warm_up_ns),
        "scheduled_ns": pa.array(scheduled_ns),
        "outcome": _texts(columns["outcome"], OUTCOMES.__getitem__),
        "sqlstate": _texts(columns["sqlstate"], unpacked_sqlstate),
        **optional,
    }
    return pa.table([values[field.name].cast(field.type) for field in REQUESTS], schema=REQUESTS)


def _texts(column: Column, text: Callable[[int], str | None]) -> pa.Array:
    """A column of numbers that stand for texts, of which there are few different ones."""
    numbers, which = np.unique(column, return_inverse=True)
    return pa.array([text(int(number)) for number in numbers], pa.string()).take(pa.array(which))
