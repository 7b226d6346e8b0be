"""What is wrong between the parts of an experiment whose parts are each right. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from poolexp.databases.settings import may_be_set
from poolexp.experiment import Experiment, Place
from poolexp.workload import ClosedLoop, PoissonArrivals, ReplayedArrivals, Workload

RESERVED_CONNECTIONS = 3
"""PostgreSQL's default `superuser_reserved_connections`, which a pool cannot have."""

MAXIMUM_TRIALS = 10_000
MAXIMUM_REQUESTS_PER_TRIAL = 5_000_000

LEAST_OPERATIONS_PER_WORKER = 10
"""At both edges of a window as many requests are under way as there are workers: with ten times as
many operations that is a tenth of them at most, with fewer there is no rate to speak of."""

LEAST_POISSON_ARRIVALS = 10
"""With so many expected, one window in twenty thousand has none."""

Contradictions = Iterator[tuple[Place, str]]


def contradictions(experiment: Experiment) -> Contradictions:
    """Each with the place of the key that is to change."""
    yield from _twins(experiment)
    yield from _sizes(experiment)
    yield from _primary(experiment)
    yield from _keys(experiment)
    yield from _shares(experiment)
    yield from _trials(experiment)
    yield from _variants(experiment)
    yield from _names(experiment)
    for index, workload in enumerate(experiment.workload):
        yield from _extent(experiment, workload, ("workload", index))


def _twins(experiment: Experiment) -> Contradictions:
    names = [workload.name for workload in experiment.workload]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield ("workload", index, "name"), f"{name} is used twice"
    factors: tuple[tuple[Place, tuple[object, ...]], ...] = (
        (("pool", "size"), experiment.pool.size),
        (("pool", "reset"), experiment.pool.reset),
        (("pool", "selection"), experiment.pool.selection),
        (("pool", "statement_cache"), experiment.pool.statement_cache),
        # Two ways of writing that nothing is limited are the same level.
        (("database", "limits"), tuple(each.cpu_limit() for each in experiment.database.limits)),
        (("generator", "limits"), tuple(each.cpu_limit() for each in experiment.generator.limits)),
    )
    concurrencies = (
        (("workload", index, "closed_loop", "concurrency"), workload.concurrencies)
        for index, workload in enumerate(experiment.workload)
    )
    for place, levels in (*factors, *concurrencies):
        if any(level in levels[:index] for index, level in enumerate(levels)):
            yield place, "a level is given twice"


def _sizes(experiment: Experiment) -> Contradictions:
    offered = experiment.database.max_connections
    most = offered - RESERVED_CONNECTIONS
    for size in experiment.pool.size:
        if size > most:
            yield (
                ("pool", "size"),
                f"a pool of {size} does not fit: of max_connections = {offered}, "
                f"{RESERVED_CONNECTIONS} are reserved, so at most {most} are free",
            )
    baseline = experiment.analysis.baseline_pool_size
    if baseline is not None and baseline not in experiment.pool.size:
        sizes = ", ".join(str(size) for size in experiment.pool.size)
        yield ("analysis", "baseline_pool_size"), f"{baseline} is none of the sizes {sizes}"


def _primary(experiment: Experiment) -> Contradictions:
    """An open loop's rate is the one offered, whatever the pool."""
    if experiment.analysis.primary != "rate_per_s":
        return
    for workload in experiment.workload:
        if workload.closed_loop is None:
            yield (
                ("analysis", "primary"),
                f"{workload.name} is sent at planned times, so its rate_per_s is the one that is "
                "offered: only closed loops can be compared by it",
            )


def _keys(experiment: Experiment) -> Contradictions:
    pool = experiment.pool
    if "key_hash" not in pool.selection:
        if pool.key is not None:
            yield ("pool", "key"), "a key picks the connection only where selection is key_hash"
        return
    if pool.key is None:
        yield ("pool", "selection"), "key_hash needs key, the parameter that picks the connection"
    for workload in experiment.workload:
        if pool.key is not None and pool.key not in workload.parameters:
            yield ("pool", "key"), f"{workload.name} has no parameter {pool.key}"
    if experiment.generator.processes > 1:
        yield (
            ("generator", "processes"),
            "with key_hash there can be but one process: each has connections of its own",
        )


def _shares(experiment: Experiment) -> Contradictions:
    """Each generator process has its share of the pool and of the workers."""
    processes = experiment.generator.processes
    for size in experiment.pool.size:
        if size % processes:
            yield ("pool", "size"), f"a pool of {size} cannot be shared by {processes} processes"
    for index, workload in enumerate(experiment.workload):
        for workers in workload.concurrencies:
            if workers is not None and workers % processes:
                yield (
                    ("workload", index, "closed_loop", "concurrency"),
                    f"{workers} workers cannot be shared by {processes} processes",
                )


def _trials(experiment: Experiment) -> Contradictions:
    trials = len(list(experiment.scenarios())) * experiment.design.repetitions
    if trials > MAXIMUM_TRIALS:
        yield (
            ("design", "repetitions"),
            f"the plan would have {trials:,} trials; at most {MAXIMUM_TRIALS:,} are accepted",
        )


def _variants(experiment: Experiment) -> Contradictions:
    names = [variant.name for variant in experiment.variant]
    for index, variant in enumerate(experiment.variant):
        if variant.name in names[:index]:
            yield ("variant", index, "name"), f"{variant.name} is used twice"
        if variant.work != 1:
            yield from _work(experiment, ("variant", index, "work"))
        for setting in variant.settings:
            if not may_be_set(setting):
                yield ("variant", index, "settings", setting), "it cannot be changed for our server"
    baseline = experiment.analysis.baseline_variant
    if baseline is not None and baseline not in names:
        known = f"none of the variants {', '.join(names)}" if names else "given, but no variant is"
        yield ("analysis", "baseline_variant"), f"{baseline} is {known}"
    conditions = [variant.condition for variant in experiment.variant]
    if experiment.aa is not None and len(set(conditions)) == len(conditions):
        yield ("aa",), "it needs two variants that differ in nothing but their names"


def _work(experiment: Experiment, place: Place) -> Contradictions:
    measured = {scenario.workload for scenario in experiment.scenarios()}
    for workload in experiment.workload:
        if workload.name in measured and workload.calibrated is None:
            yield (
                place,
                f"{workload.name} has no calibrated parameter whose work could be changed",
            )


def _names(experiment: Experiment) -> Contradictions:
    known = [cell.slug for cell in experiment.cells()]
    for index, slug in enumerate(experiment.design.only):
        if slug not in known:
            yield (
                ("design", "only", index),
                f"{slug} is none of the scenarios {', '.join(known[:12])}"
                + (" and more" if len(known) > 12 else ""),
            )
    names = [scenario.slug for scenario in experiment.scenarios()]
    if len(names) != len(set(names)) and len(set(known)) == len(known):
        twice = next(name for index, name in enumerate(names) if name in names[:index])
        yield ("variant",), f"two scenarios would both be called {twice}: rename a variant"


def _extent(experiment: Experiment, workload: Workload, place: Place) -> Contradictions:
    """Neither too many requests in a trial, nor none."""
    design, arrivals = experiment.design, workload.arrivals
    if isinstance(arrivals, ReplayedArrivals):
        yield from _replayed(experiment, arrivals, (*place, "arrivals", "file"))
    elif arrivals is not None:
        rate_place = (*place, "arrivals", "rate_per_s")
        most = arrivals.rate_per_s * (design.warm_up_s + design.measure_s)
        if most > MAXIMUM_REQUESTS_PER_TRIAL:
            yield rate_place, _too_many(most)
        elif arrivals.rate_per_s * design.measure_s < getattr(arrivals, "size", 1):
            yield rate_place, f"nothing would arrive within the window of {design.measure_s:g} s"
        elif (
            isinstance(arrivals, PoissonArrivals)
            and arrivals.rate_per_s * design.measure_s < LEAST_POISSON_ARRIVALS
        ):
            yield (
                rate_place,
                f"fewer than {LEAST_POISSON_ARRIVALS} are to be expected within the window of "
                f"{design.measure_s:g} s, so that in some there might be none",
            )
    elif workload.closed_loop is not None:
        yield from _operations(workload.closed_loop, (*place, "closed_loop", "operations"))


def _operations(loop: ClosedLoop, place: Place) -> Contradictions:
    if loop.operations is None:
        return
    least = LEAST_OPERATIONS_PER_WORKER * max(loop.concurrency)
    if loop.operations > MAXIMUM_REQUESTS_PER_TRIAL:
        yield place, _too_many(loop.operations)
    elif loop.operations < least:
        yield (
            place,
            f"{loop.operations} operations of {max(loop.concurrency)} workers give no rate: "
            f"at least {LEAST_OPERATIONS_PER_WORKER} for each worker, {least:,}, are needed",
        )


def _replayed(experiment: Experiment, arrivals: ReplayedArrivals, place: Place) -> Contradictions:
    design = experiment.design
    length_ms = (design.warm_up_s + design.measure_s) * 1000
    last_ms = arrivals.offsets_ns[-1] / 1e6
    most = arrivals.rate_per_s * length_ms / 1000
    if arrivals.repeat_every_ms is None and last_ms < length_ms:
        yield (
            place,
            f"it ends at {last_ms:g} ms, before the trial does at {length_ms:g} ms: "
            "let it begin again with repeat_every_ms, or measure for a shorter time",
        )
    elif most > MAXIMUM_REQUESTS_PER_TRIAL:
        yield place, _too_many(most)
    elif not _arrives_within(arrivals, round(design.warm_up_s * 1e9), round(length_ms * 1e6)):
        yield (
            place,
            f"nothing would arrive within the window, from {design.warm_up_s * 1000:g} to "
            f"{length_ms:g} ms",
        )


def _arrives_within(arrivals: ReplayedArrivals, opens_ns: int, closes_ns: int) -> bool:
    """Whether any offset, or any of its repetitions, falls into the window."""
    period_ns = arrivals.period_ns
    for offset_ns in arrivals.offsets_ns:
        rounds = 0
        if period_ns is not None and offset_ns < opens_ns:
            rounds = -((offset_ns - opens_ns) // period_ns)
        if opens_ns <= offset_ns + rounds * (period_ns or 0) < closes_ns:
            return True
    return False


def _too_many(requests: float) -> str:
    return (
        f"a trial would have {requests:,.0f} requests; "
        f"at most {MAXIMUM_REQUESTS_PER_TRIAL:,} are accepted"
    )
