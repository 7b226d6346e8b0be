"""Which scenarios of a run are compared with which: those that differ in one factor. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Row = Mapping[str, Any]
Level = str | int | bool | None

UNLIMITED = "no limit"


@dataclass(frozen=True, slots=True)
class Condition:
    """A scenario with its level of every factor."""

    scenario: str
    workload: str
    levels: Mapping[str, Level]

    def level_in_words(self, factor: str) -> str:
        """Its level of a factor, as SQL shows it: `5`, `fifo`, `true`, `0.5 cores per 10 ms`."""
        level = self.levels[factor]
        return str(level).lower() if isinstance(level, bool) else str(level)

    def rest(self, *factors: str) -> tuple[object, ...]:
        """All that it shares with scenarios that differ from it in these factors alone."""
        others = (level for name, level in self.levels.items() if name not in factors)
        return (self.workload, *others)


@dataclass(frozen=True, slots=True)
class Pair:
    """A condition and what it is compared with; they differ in `factor` alone.

    `primary` says whether a verdict may be given: it was named beforehand.
    """

    factor: str
    condition: Condition
    baseline: Condition
    primary: bool


@dataclass(frozen=True, slots=True)
class LimitEffect:
    """A pair of pool sizes under a limit, and the same pair without."""

    factor: str
    limited: Pair
    unlimited: Pair


def conditions_of(trials: Sequence[Row]) -> tuple[Condition, ...]:
    """The scenarios of a plan's trials, rows of the view `trials`, each once."""
    return tuple({row["scenario"]: _condition(row) for row in trials}.values())


def _condition(row: Row) -> Condition:
    return Condition(
        scenario=row["scenario"],
        workload=row["workload"],
        levels={factor: level(row) for factor, level in _LEVELS.items()},
    )


def _named(name: str) -> Callable[[Row], Level]:
    def level(row: Row) -> Level:
        found: Level = row[name]
        return found

    return level


def _limit_of(group: str) -> Callable[[Row], Level]:
    def level(row: Row) -> Level:
        cores, period_ms = row[f"{group}_cores"], row[f"{group}_period_ms"]
        return UNLIMITED if cores is None else f"{cores:g} cores per {period_ms:g} ms"

    return level


_COLUMNS = ("pool_size", "variant", "concurrency", "selection", "pool_reset", "statement_cache")
_LEVELS: dict[str, Callable[[Row], Level]] = {
    **{name: _named(name) for name in _COLUMNS},
    "database_limit": _limit_of("database"),
    "generator_limit": _limit_of("generator"),
}
FACTORS = tuple(_LEVELS)
PRIMARY_FACTORS = ("pool_size", "variant")
LIMITS = ("database_limit", "generator_limit")


@dataclass(frozen=True, slots=True)
class Baselines:
    """What the levels of each factor are compared with."""

    levels: Mapping[str, Level]

    @classmethod
    def of(cls, experiment: Row, conditions: Sequence[Condition]) -> Baselines:
        """Those that the experiment's `[analysis]` names, else the smallest size or first level.

        `experiment` is the one of plan.json. Against a limit stands no limit, where it is a level.
        """
        analysis, pool = experiment.get("analysis", {}), experiment.get("pool", {})
        variants = [variant["name"] for variant in experiment.get("variant") or ()]
        named = {
            "pool_size": analysis.get("baseline_pool_size"),
            "variant": analysis.get("baseline_variant") or next(iter(variants), None),
            "selection": next(iter(pool.get("selection", ())), None),
            "pool_reset": next(iter(pool.get("reset", ())), None),
            "statement_cache": next(iter(pool.get("statement_cache", ())), None),
            **dict.fromkeys(LIMITS, UNLIMITED),
        }
        return cls({factor: _chosen(named.get(factor), factor, conditions) for factor in FACTORS})


def _chosen(named: Level, factor: str, conditions: Sequence[Condition]) -> Level:
    levels = [condition.levels[factor] for condition in conditions]
    if named in levels:
        return named
    numbers = [level for level in levels if isinstance(level, int)]
    return min(numbers, default=next(iter(levels), None))


def pairs_of(conditions: Sequence[Condition], baselines: Baselines) -> Iterator[Pair]:
    """Each level of each factor against the baseline; neighbouring pool sizes besides."""
    for factor in FACTORS:
        for members in _groups(conditions, factor):
            base = [each for each in members if each.levels[factor] == baselines.levels[factor]]
            primary = factor in PRIMARY_FACTORS
            for baseline in base:
                others = (each for each in members if each is not baseline)
                yield from (Pair(factor, each, baseline, primary) for each in others)
            if factor == "pool_size":
                yield from (
                    Pair(factor, after, before, False)
                    for before, after in pairwise(members)
                    if before not in base and after not in base
                )


def _groups(conditions: Sequence[Condition], factor: str) -> list[list[Condition]]:
    """Conditions that differ in one factor alone, by its level where that is a number."""
    groups: dict[tuple[object, ...], list[Condition]] = {}
    for condition in conditions:
        groups.setdefault(condition.rest(factor), []).append(condition)
    return [
        sorted(group, key=lambda each: _place(each.levels[factor])) for group in groups.values()
    ]


def _place(level: Level) -> tuple[int, str]:
    return (level, "") if isinstance(level, int) else (0, str(level))


def limit_effects_of(pairs: Sequence[Pair]) -> Iterator[LimitEffect]:
    """Each pair of pool sizes under a limit beside the same one without it."""
    sizes = [pair for pair in pairs if pair.factor == "pool_size" and pair.primary]
    for factor in LIMITS:
        free = {
            _key(pair, factor): pair for pair in sizes if pair.condition.levels[factor] == UNLIMITED
        }
        for pair in sizes:
            other = free.get(_key(pair, factor))
            if other is not None and other is not pair:
                yield LimitEffect(factor, pair, other)


def _key(pair: Pair, factor: str) -> tuple[object, ...]:
    return pair.condition.rest(factor), pair.baseline.rest(factor)
