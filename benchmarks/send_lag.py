"""Send lag against `pgbench --rate`, both in a group of half a core, taking turns.

usage:  .venv/bin/uv run python -m benchmarks.send_lag [PAIRS]

Both send a Poisson process and note how late each request was sent. Ours is `requested -
scheduled`; pgbench calls its own schedule lag. pgbench never resets a connection, so ours is
measured with asyncpg's standard reset, one more round trip a request, and without. No request may
ever be early.
"""

from __future__ import annotations

import asyncio
import sys
from itertools import product

import numpy as np

from benchmarks.stand import LIGHT, LIGHT_PARAMETERS, LIGHT_SCRIPT, Ratios, Stand, show, stand
from poolexp.cgroups import CpuLimit

SECONDS = 6
CLIENTS = 5


async def pair(
    place: Stand, rate_per_s: int, seed: int, *, reset: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Send lags of one pair in ms: ours, pgbench's."""
    load = {
        "sql": LIGHT,
        "parameters": LIGHT_PARAMETERS,
        "arrivals": {"kind": "poisson", "rate_per_s": float(rate_per_s)},
    }
    pool = {"size": CLIENTS, "reset": reset}
    trial = await place.ours(load, pool, measure_s=SECONDS, seed=seed)
    peer = place.pgbench(LIGHT_SCRIPT, "-c", CLIENTS, "-T", SECONDS, "-R", rate_per_s)
    return trial.ms("requested_ns", "scheduled_ns"), peer.schedule_lag_ms


async def uniform(place: Stand, seed: int) -> np.ndarray:
    """Send lags of evenly spaced requests at 200/s in ms."""
    load = {
        "sql": LIGHT,
        "parameters": LIGHT_PARAMETERS,
        "arrivals": {"kind": "uniform", "rate_per_s": 200.0},
    }
    trial = await place.ours(load, {"size": CLIENTS}, measure_s=SECONDS, seed=seed)
    return trial.ms("requested_ns", "scheduled_ns")


async def main(pairs: int) -> None:
    """Measure and print."""
    rows, early = [], 0
    async with stand(CpuLimit(0.5, 10)) as place:
        for rate_per_s, reset in product((200, 1000), (True, False)):
            name = f"Poisson {rate_per_s}/s, {'reset' if reset else 'no reset'}"
            p50 = Ratios(f"send lag p50, ms, {name}", "")
            p99 = Ratios(f"send lag p99, ms, {name}", "at most 1.0")
            for seed in range(pairs):
                ours, peer = await pair(place, rate_per_s, seed, reset=reset)
                p50.add(float(np.percentile(ours, 50)), float(np.percentile(peer, 50)))
                p99.add(float(np.percentile(ours, 99)), float(np.percentile(peer, 99)))
                early += int((ours < 0).sum())
            rows += [p50.cells(), p99.cells()]
        even = Ratios("send lag p99, ms, uniform 200/s, against the limit of 0.3 ms", "at most 1.0")
        for seed in range(pairs):
            lags = await uniform(place, seed)
            even.add(float(np.percentile(lags, 99)), 0.3)
            early += int((lags < 0).sum())
        rows += [even.cells(), ("requests sent early", str(early), "", "", "", "", "0")]
    show("Send lag against pgbench --rate", rows)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
