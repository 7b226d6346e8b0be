"""Finds the parameter with which a statement costs a given CPU time on this machine.

The same rows are more work on one machine than on another, and with another load it would be
another experiment. So a workload may state its cost; the parameter is found once per machine,
server version and statement, and then frozen in a file of the home.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from poolexp.calibration_search import CalibrationRequest, Costs, find
from poolexp.databases.server import Server, connected
from poolexp.errors import HomeError
from poolexp.host import host_key
from poolexp.landing import read_json, write_json
from poolexp.workload import Argument, Constant, Workload, draw_arguments

__all__ = [
    "Calibration",
    "CalibrationRequest",
    "calibrate",
    "calibrate_workload",
    "request_for",
]

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was found.

    `statement` is the SHA-256 of the SQL. `measured_cpu_ms` is the median of fresh executions
    with the value that was chosen, and `spread` the distance of their quartiles over that median.
    `calibrated_at` is UTC, ISO 8601.
    """

    statement: str
    parameter: str
    target_cpu_ms: float
    value: int
    overflow: str | None
    overflow_value: int | None
    measured_cpu_ms: float
    spread: float
    host_key: str
    server_version: str
    calibrated_at: str

    @property
    def found(self) -> dict[str, int]:
        """The values to use, by parameter name."""
        found = {self.parameter: self.value}
        if self.overflow is not None and self.overflow_value is not None:
            found[self.overflow] = self.overflow_value
        return found


def request_for(workload: Workload) -> CalibrationRequest:
    """Make the request for the calibrated parameter of a workload.

    Raises ValueError when the workload has none.
    """
    if workload.calibrated is None:
        raise ValueError(f"workload {workload.name} has no parameter to calibrate")
    name, parameter = workload.calibrated
    overflow = parameter.overflow

    def arguments(value: int, overflow_value: int, draw: int) -> tuple[Argument, ...]:
        found = {name: value} | ({overflow: overflow_value} if overflow else {})
        return next(draw_arguments(workload, found, seed=draw))

    start = workload.parameters[overflow] if overflow else None
    return CalibrationRequest(
        sql=workload.statement.sql,
        parameter=name,
        target_cpu_ms=parameter.calibrate_cpu_ms,
        lower=parameter.min,
        upper=parameter.max,
        arguments=arguments,
        overflow=overflow,
        overflow_from=int(start.value) if isinstance(start, Constant) else 1,
    )


async def calibrate_workload(server: Server, workload: Workload, *, store: Path) -> Calibration:
    """Calibrate the one calibrated parameter of a workload; see `calibrate`."""
    return await calibrate(server, request_for(workload), store=store)


async def calibrate(server: Server, request: CalibrationRequest, *, store: Path) -> Calibration:
    """Find the value, or read it in `store` when it was found before on this machine.

    The caller lifts any CPU quota of the server first. Raises DatabaseError when the target lies
    outside what the parameter can reach, and HomeError when the store cannot be read or written.
    """
    key = f"{host_key()} {server.version} {_digest(request)}"
    known = _read(store)
    if key not in known:
        known[key] = await _measure(server, request)
        _write(store, known)
    return known[key]


def _digest(request: CalibrationRequest) -> str:
    """Digest all that the result depends on, but machine and server; constants come by a sample."""
    sample = request.arguments(request.lower, request.overflow_from, 0)
    bounds = [request.target_cpu_ms, request.lower, request.upper, request.overflow_from]
    text = json.dumps([request.sql, request.parameter, request.overflow, bounds, sample])
    return _sha256(text)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


async def _measure(server: Server, request: CalibrationRequest) -> Calibration:
    async with connected(server) as connection:
        costs = await Costs.on(connection, request)
        setting, cost = await find(costs, request)
    return Calibration(
        statement=_sha256(request.sql),
        parameter=request.parameter,
        target_cpu_ms=request.target_cpu_ms,
        value=setting.value,
        overflow=request.overflow,
        overflow_value=setting.overflow if request.overflow else None,
        measured_cpu_ms=cost.cpu_ms,
        spread=cost.spread,
        host_key=host_key(),
        server_version=server.version,
        calibrated_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


_STORED = TypeAdapter(dict[str, Calibration])


def _read(store: Path) -> dict[str, Calibration]:
    try:
        document = read_json(store)
        if document.get("format") != _FORMAT:
            raise ValueError(f"its format is {document.get('format')}, not {_FORMAT}")
        return _STORED.validate_python(document.get("calibrations"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError) as error:
        raise HomeError(
            f"the calibrations in {store} cannot be read: {_reason(error)}",
            "Move the file away to calibrate anew; runs from before may then not be comparable.",
        ) from error


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return f"{error.error_count()} of its values are not what they must be"
    return str(error)


def _write(store: Path, known: Mapping[str, Calibration]) -> None:
    calibrations = {key: asdict(calibration) for key, calibration in known.items()}
    try:
        write_json(store, {"format": _FORMAT, "calibrations": calibrations})
    except OSError as error:
        raise HomeError(
            f"the calibration cannot be stored in {store}: {error.strerror}",
            "Make room, or choose another home with --home.",
        ) from error
