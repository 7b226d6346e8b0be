"""Whether the numbers of a run moved while it went on, whatever the scenario. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

PERMUTATIONS = 4_999
WARNS_UP_TO = 0.01
"""Of runs without drift so many are warned of."""

_SEED = 20260601

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Drift:
    """How a run's numbers moved with the place of the trial.

    Attributes:
        trials: how many of them were used.
        change: the fitted change from the first of them to the last, as a logarithm of a ratio;
            None where no scenario has two trials.
        p_value: share of the orders of the trials, exchanged within their scenarios, in which the
            change is at least as great, the observed one counted in; None likewise.
    """

    trials: int
    change: float | None
    p_value: float | None

    @property
    def warned(self) -> bool:
        """Whether this is to be said."""
        return self.p_value is not None and self.p_value <= WARNS_UP_TO


def drift(scenarios: Sequence[str], places: Sequence[int], logs: Sequence[float]) -> Drift:
    """Drift of trials with these scenarios, places in the run, and logarithms of a metric.

    Residuals within the scenarios are fitted over the place by least squares, both centred within
    the scenario; the p-value is of a permutation test with a fixed seed (Phipson and Smyth 2010,
    Stat. Appl. Genet. Mol. Biol. 9:39, for counting the observed order in).
    """
    groups = _groups(scenarios)
    centred_places = _centred(np.asarray(places, dtype=np.float64), groups)
    residuals = _centred(np.asarray(logs, dtype=np.float64), groups)
    spread = float(centred_places @ centred_places)
    if not spread:
        return Drift(len(places), None, None)
    observed = float(residuals @ centred_places)
    random = np.random.default_rng(_SEED)
    permuted = np.zeros(PERMUTATIONS)
    for group in groups:
        permuted += _permuted(residuals[group], centred_places[group], random)
    extreme = np.abs(permuted) >= abs(observed) * (1 - 1e-12)
    p_value = float((1 + extreme.sum()) / (1 + PERMUTATIONS))
    return Drift(len(places), observed / spread * (max(places) - min(places)), p_value)


def _groups(scenarios: Sequence[str]) -> list[npt.NDArray[np.intp]]:
    names = np.asarray(scenarios)
    return [np.flatnonzero(names == name) for name in sorted(set(scenarios))]


def _centred(values: Floats, groups: Sequence[npt.NDArray[np.intp]]) -> Floats:
    centred = values.copy()
    for group in groups:
        centred[group] -= values[group].mean()
    return centred


def _permuted(residuals: Floats, places: Floats, random: np.random.Generator) -> Floats:
    """A scenario's part of the sum, in every permutation."""
    shuffled = np.tile(residuals, (PERMUTATIONS, 1))
    random.permuted(shuffled, axis=1, out=shuffled)
    return np.asarray(shuffled @ places, dtype=np.float64)
