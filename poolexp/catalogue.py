"""Experiment files: the built-in ones and a person's own, read and checked.

Every problem of a file is reported at once, each with its key path and, where it can be found,
its line.
"""

from __future__ import annotations

import copy
import re
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from poolexp.contradictions import contradictions
from poolexp.errors import ExperimentError, Problem, UsageError
from poolexp.experiment import Experiment, Place
from poolexp.replay import read_replay
from poolexp.variants import PROGRAMS

_BUILT_IN = resources.files("poolexp") / "experiments"
_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"^\s*\"?([A-Za-z0-9_-]+)\"?\s*(?:\.[^=]*)?=")


def built_in_names() -> list[str]:
    """Names of the built-in experiments, sorted."""
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in _BUILT_IN.iterdir()
        if entry.name.endswith(".toml")
    )


def source_of(reference: str) -> tuple[str, str]:
    """Name and text of an experiment given by a built-in name or by the path of a file.

    Raises:
        UsageError: there is no such experiment, or its file cannot be read.

    """
    if reference in built_in_names():
        return reference, (_BUILT_IN / f"{reference}.toml").read_text(encoding="utf-8")
    path = Path(reference)
    try:
        return str(path), path.read_text(encoding="utf-8")
    except FileNotFoundError:
        known = ", ".join(built_in_names())
        raise UsageError(
            f"there is no experiment {reference!r}",
            f"Give one of {known}, or the path of a TOML file.",
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{reference} cannot be read: {error}") from error


def load_experiment(
    reference: str, *, repetitions: int | None = None, seed: int | None = None
) -> Experiment:
    """The experiment of that built-in name or file, with parts of its design replaced if asked.

    Raises:
        UsageError: there is no such experiment.
        ExperimentError: its file is wrong; every problem at once.

    """
    source, text = source_of(reference)
    document = _parse_toml(source, text)
    changes = {"repetitions": repetitions, "seed": seed}
    given = {key: value for key, value in changes.items() if value is not None}
    if given and isinstance(document.setdefault("design", {}), dict):
        document["design"] |= given
    return parse_experiment(document, source=source, text=text)


def _parse_toml(source: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ExperimentError(source, [_syntax_problem(str(error))]) from None


def _syntax_problem(message: str) -> Problem:
    found = re.search(r"\(at (line \d+, column \d+|end of document)\)", message)
    place = found[1] if found else "file"
    text = message.replace(f" (at {place})", "")
    return Problem(place, text[:1].lower() + text[1:])


def parse_experiment(document: dict[str, Any], *, source: str, text: str = "") -> Experiment:
    """Check a parsed document; `text` is searched for the lines of what is wrong.

    Files that it names are looked for beside `source`.

    Raises:
        ExperimentError: with every problem at once.

    """
    problems: list[tuple[Place, str]] = []
    document = _with_replays(document, Path(source).parent, problems)
    document = _with_programs(document, Path(source).parent, problems)
    experiment = _validate(document, problems)
    if experiment is None:
        experiment = _validate(_mended(document, [place for place, _ in problems]), [])
    if experiment is not None:
        problems += contradictions(experiment)
    if problems:
        lines = text.splitlines()
        raise ExperimentError(
            source, [Problem(describe_place(place, lines), message) for place, message in problems]
        )
    assert experiment is not None  # noqa: S101 - without problems it was built
    return experiment


def _with_replays(
    document: dict[str, Any], folder: Path, problems: list[tuple[Place, str]]
) -> dict[str, Any]:
    """The document with the files of arrivals that it names read into it."""
    read = copy.deepcopy(document)
    workloads = read.get("workload")
    for index, workload in enumerate(workloads if isinstance(workloads, list) else []):
        arrivals = workload.get("arrivals") if isinstance(workload, dict) else None
        if not isinstance(arrivals, dict) or arrivals.get("kind") != "replayed":
            continue
        place: Place = ("workload", index, "arrivals")
        for key in _FILLED_IN & arrivals.keys():
            problems.append(((*place, key), "what the file holds is not said here"))
        try:
            replay = read_replay(folder / str(arrivals.get("file", "")))
        except ValueError as error:
            problems.append(((*place, "file"), str(error)))
            # A stand-in, so that the rest can be judged.
            workload["arrivals"] = _STAND_IN["arrivals"]
        else:
            arrivals |= {"offsets_ns": replay.offsets_ns, "sha256": replay.sha256}
    return read


_FILLED_IN = {"offsets_ns", "sha256"}


def _with_programs(
    document: dict[str, Any], folder: Path, problems: list[tuple[Place, str]]
) -> dict[str, Any]:
    """The document with each variant's folder of programs found, and looked into."""
    read = copy.deepcopy(document)
    variants = read.get("variant")
    for index, variant in enumerate(variants if isinstance(variants, list) else []):
        if not isinstance(variant, dict):
            continue
        if "programs" in variant:
            problems.append((("variant", index, "programs"), "the folder is given with pg_bin"))
            del variant["programs"]
        if isinstance(variant.get("pg_bin"), str):
            programs = (folder / variant["pg_bin"]).resolve()
            variant["programs"] = programs
            missing = [name for name in PROGRAMS if not (programs / name).is_file()]
            if missing:
                problems.append(
                    (("variant", index, "pg_bin"), f"{programs} holds no program {missing[0]}")
                )
    return read


def _validate(document: dict[str, Any], problems: list[tuple[Place, str]]) -> Experiment | None:
    try:
        return Experiment.model_validate(document)
    except ValidationError as error:
        for details in error.errors(include_url=False):
            place = tuple(part for part in details["loc"] if part not in _INTERNAL_PARTS)
            problems.append((place, details["msg"].removeprefix("Value error, ")))
        return None


_INTERNAL_PARTS = {"constant", "uniform", "calibrated", "burst", "poisson", "replayed"}
"""Names that the checker adds to a place to say which kind of table it took it for."""


_STAND_IN = {"sql": "SELECT 1", "arrivals": {"kind": "uniform", "rate_per_s": 1.0}}


def _mended(document: dict[str, Any], places: list[Place]) -> dict[str, Any]:
    """The document without what is wrong in it, so that the rest can be judged as a whole.

    What is wrong in one part must not hide what is wrong between the parts that are right. A key
    that is wrong gives way to its default; a workload to one that cannot be wrong.
    """
    mended = {"name": "mended", **copy.deepcopy(document)}
    for table in ("workload", "variant"):
        found = mended.get(table, [])
        mended[table] = found if isinstance(found, list) else [found]
    for place in places:
        match place:
            case ("workload" | "variant" as table, int(index), *_):
                stand_in = _STAND_IN if table == "workload" else {}
                mended[table][index] = {"name": f"mended-{index}", **stand_in}
            case ("workload",):
                mended["workload"] = [{"name": "mended", **_STAND_IN}]
            case ("name", *_):
                mended["name"] = "mended"
            case (str(table), str(key), *_) if isinstance(mended.get(table), dict):
                mended[table].pop(key, None)
            case (str(key), *_):
                mended.pop(key, None)
    return mended


def describe_place(place: Place, lines: list[str]) -> str:
    """A key path a person can follow, `workload[2].arrivals.rate_per_s`, with its line if found."""
    path = ""
    for part in place:
        path += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if path else part
    line = _find_line(place, lines)
    return f"{path or 'file'}, line {line}" if line else path or "file"


def _find_line(place: Place, lines: list[str]) -> int | None:
    """The line of the innermost key of `place` that has a line of its own."""
    keys = [part for part in place if isinstance(part, str)]
    wanted_element = next((part for part in place if isinstance(part, int)), None)
    header: list[str] = []
    elements: dict[str, int] = {}
    best: tuple[int, int] | None = None
    for number, line in enumerate(lines, start=1):
        if opened := _HEADER.match(line):
            header = [part.strip().strip('"') for part in opened[2].split(".")]
            if opened[1] == "[[":
                elements[opened[2]] = elements.get(opened[2], -1) + 1
            depth = _shared(header, keys)
        elif key := _KEY.match(line):
            depth = _shared([*header, key[1]], keys)
        else:
            continue
        element = elements.get(header[0]) if header else None
        if element is not None and wanted_element is not None and element != wanted_element:
            continue
        if depth and (best is None or depth > best[0]):
            best = depth, number
    return best[1] if best else None


def _shared(path: list[str], keys: list[str]) -> int:
    """How many leading keys `path` shares with `keys`; none if it leads elsewhere."""
    return len(path) if path == keys[: len(path)] else 0
