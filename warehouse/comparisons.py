"""The comparisons of one run: its trials' numbers in, ratios with intervals and verdicts out. Pure.

A request that failed is infinitely slow, so a trial with failures has no mean; where a condition
has such a trial nothing is estimated of that metric, and no verdict is given on any.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from warehouse.conditions import (
    Baselines,
    LimitEffect,
    Pair,
    conditions_of,
    limit_effects_of,
    pairs_of,
)
from warehouse.measured import PERCENTILES, RATE, Blocks, Measured, Values
from warehouse.statistics import Interval, Paired, paired
from warehouse.verdicts import Contrast, Judged, judge

PHASES = ("end_to_end", "response", "acquire_wait", "round_trip")
METRICS = (
    *(f"{phase}_mean_ms" for phase in (*PHASES, "release", "send_lag")),
    *(f"{phase}_{percentile}_ms" for phase in PHASES for percentile in PERCENTILES),
    RATE,
)
"""Columns of `trial_summary` that are compared."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One row of `raw.comparison`; its columns are described in dictionary.toml."""

    kind: str
    factor: str
    workload: str
    scenario: str
    baseline: str
    level: str
    baseline_level: str
    metric: str
    blocks: int
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    difference: float | None
    p_value: float | None
    p_sign_flip: float | None
    adjusted_low: float | None = None
    adjusted_high: float | None = None
    p_holm: float | None = None
    delta: float | None = None
    noise_floor: float | None = None
    relevant: float | None = None
    verdict: str | None = None
    reason: str | None = None
    blocks_needed: int | None = None


def compare(measured: Measured) -> list[Comparison]:
    """All comparisons of a run: primary ones first, then all others, then effects of limits."""
    conditions = conditions_of(measured.trials)
    pairs = list(pairs_of(conditions, Baselines.of(measured.experiment, conditions)))
    values = Values(measured)
    return [
        *_primary(measured, values, [pair for pair in pairs if pair.primary]),
        *_others(measured, values, pairs),
        *_limit_effects(values, list(limit_effects_of(pairs))),
    ]


def _primary(measured: Measured, values: Values, pairs: Sequence[Pair]) -> Iterator[Comparison]:
    barred = _barred(measured)
    blocks = [values.of(pair, measured.primary) for pair in pairs]
    family = [
        Contrast(
            logs=list(found.logs.values()),
            delta=measured.delta,
            floor=measured.floors.find(pair, measured.primary, len(found.logs)),
            more_is_better=measured.primary == RATE,
            barred=_why_not(pair, found, barred, tells=values.tell(pair, measured.primary)),
        )
        for pair, found in zip(pairs, blocks, strict=True)
    ]
    for pair, found, contrast, judged in zip(pairs, blocks, family, judge(family), strict=True):
        row = _row("primary", pair, measured.primary, judged.paired, found.difference)
        yield _with_verdict(row, contrast, judged)


def _why_not(pair: Pair, found: Blocks, barred: Mapping[str, str], *, tells: bool) -> str | None:
    scenarios = (pair.condition.scenario, pair.baseline.scenario)
    reasons = [barred[scenario] for scenario in scenarios if scenario in barred]
    if not reasons and not found.logs:
        reasons = ["no block has a number for both that a ratio can be made of"]
    elif not reasons and not tells:
        reasons = ["too few independent requests lie beyond that percentile"]
    return "; ".join(reasons) or None


def _barred(measured: Measured) -> dict[str, str]:
    """Why nothing is claimed of a scenario: what it may have brought upon itself."""
    barred = {scenario: f"{scenario} is limited" for scenario in measured.limited}
    for row in measured.trials:
        if row["status"] == "failed" and not row["excluded"]:
            text = f"trial {row['trial']} of {row['scenario']} broke off"
            barred.setdefault(row["scenario"], text)
    for row in measured.counted:
        if row["failed"]:
            barred.setdefault(row["scenario"], f"requests of {row['scenario']} failed")
    return barred


def _others(measured: Measured, values: Values, pairs: Sequence[Pair]) -> Iterator[Comparison]:
    """Everything that no verdict is given on."""
    for pair in pairs:
        for metric in METRICS:
            told = pair.primary and metric == measured.primary
            if not told and values.can_tell(pair.condition, metric):
                found = values.of(pair, metric)
                compared = paired(list(found.logs.values()))
                yield _row("other", pair, metric, compared, found.difference)


def _limit_effects(values: Values, effects: Sequence[LimitEffect]) -> Iterator[Comparison]:
    """(Change over pool sizes with the limit) / (the same without), block by block."""
    for effect in effects:
        for metric in METRICS:
            if not values.can_tell(effect.limited.condition, metric):
                continue
            found = [values.of(pair, metric) for pair in (effect.limited, effect.unlimited)]
            limited, free = (each.logs for each in found)
            logs = [limited[block] - free[block] for block in sorted(limited.keys() & free.keys())]
            changes = [each.difference for each in found]
            row = _row("limit effect", effect.limited, metric, paired(logs), _less(*changes))
            levels = (
                each.condition.level_in_words(effect.factor)
                for each in (effect.limited, effect.unlimited)
            )
            level, baseline_level = levels
            yield replace(row, factor=effect.factor, level=level, baseline_level=baseline_level)


def _less(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left - right


def _row(
    kind: str, pair: Pair, metric: str, compared: Paired, difference: float | None
) -> Comparison:
    low, high = _ratios(compared.interval())
    return Comparison(
        kind=kind,
        factor=pair.factor,
        workload=pair.condition.workload,
        scenario=pair.condition.scenario,
        baseline=pair.baseline.scenario,
        level=pair.condition.level_in_words(pair.factor),
        baseline_level=pair.baseline.level_in_words(pair.factor),
        metric=metric,
        blocks=compared.blocks,
        ratio=None if compared.estimate is None else math.exp(compared.estimate),
        ratio_low=low,
        ratio_high=high,
        difference=difference,
        p_value=compared.p_value,
        p_sign_flip=compared.p_sign_flip,
    )


def _with_verdict(row: Comparison, contrast: Contrast, judged: Judged) -> Comparison:
    low, high = _ratios(judged.interval)
    return replace(
        row,
        adjusted_low=low,
        adjusted_high=high,
        p_holm=judged.p_holm,
        delta=contrast.delta,
        noise_floor=contrast.floor,
        relevant=contrast.relevant,
        verdict=judged.word,
        reason=contrast.barred,
        blocks_needed=judged.needed,
    )


def _ratios(interval: Interval | None) -> tuple[float | None, float | None]:
    """Both ends as ratios; one that is too great for a number is none."""
    if interval is None:
        return None, None
    low, high = (
        math.exp(end) if end < _GREATEST else None for end in (interval.low, interval.high)
    )
    return low, high


_GREATEST = math.log(1e300)
