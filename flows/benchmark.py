"""The flow: provision, measure every trial and land it, validate, report.

What is measured is on disk before Prefect or the warehouse hears of it. A measuring task is never
cached and never retried: a second measurement would be another attempt, and must be seen as one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Literal

from prefect import flow, task
from prefect.cache_policies import NO_CACHE

from flows.benchmark_result import Finished
from flows.console import make_console
from flows.progress import Reporter, reporting
from flows.provisioning import Provision, provisioned
from flows.signals import keep_supervision
from flows.stopwatch import Stopwatch
from poolexp.catalogue import load_experiment, source_of
from poolexp.errors import PoolexpError, TrialError
from poolexp.experiment import without_limits
from poolexp.home import hold_home, new_run_id, prepare_home
from poolexp.landing import run_directory, write_json
from poolexp.measuring import Bench, measure
from poolexp.plan import Plan, Trial, make_plan
from poolexp.records import LimitsState, Source, outcome_document, plan_document
from reports.reading import read_run
from reports.run_report import write_reading
from warehouse.database import open_warehouse
from warehouse.landing_queue import LandingQueue
from warehouse.validate import ValidationReport, validate_in

TRIAL_REMEDY = (
    "If it is the statement: every connection runs it once, with the first request's parameters, "
    "before the warm-up; try it by hand with values that the experiment draws."
)

LAST_LANDINGS = 60
"""How often the last landing is tried, about a second each, while somebody holds the warehouse."""

LimitsMode = Literal["auto", "required", "off"]


class Run:
    """One run under way. A plain object on purpose: Prefect looks into data classes it is given."""

    def __init__(
        self, plan: Plan, home: Path, benches: Mapping[str | None, Bench], watch: Stopwatch
    ) -> None:
        self.plan = plan
        self.home = home
        self.benches = benches
        self.watch = watch
        self.directory = run_directory(home, plan.run_id)
        self.landings = LandingQueue(home, self.directory)

    def record(self, plan: dict[str, Any], facts: dict[str, Any]) -> None:
        """Store the plan and the facts, before anything is measured."""
        self.directory.mkdir(parents=True, mode=0o700)
        write_json(self.directory / "plan.json", plan)
        write_json(self.directory / "run.json", facts)
        self.landings.land()

    def finish(self, state: str, error: str | None = None) -> None:
        """Store how the run ended."""
        outcome = outcome_document(state, self.watch.seconds, error)
        write_json(self.directory / "outcome.json", outcome)
        self.landings.land()

    async def land_the_rest(self) -> None:
        """Land what still waits; whoever holds the warehouse has a minute to let go of it."""
        for _ in range(LAST_LANDINGS - 1):
            # One after another, so that a signal is heard in between.
            if await asyncio.to_thread(self.landings.land):
                return
        await asyncio.to_thread(self.landings.land_now)


@task(name="provision", cache_policy=NO_CACHE)
async def provision(
    plan: Plan, home: Path, stack: AsyncExitStack, limits: str, pg_bin: Path | None, out: Reporter
) -> Provision:
    """Start what the trials need; the stack ends it."""
    return await stack.enter_async_context(
        provisioned(plan, home, limits=limits, pg_bin=pg_bin, reporter=out)
    )


@task(name="trial", task_run_name="trial {number:03d} {scenario}", cache_policy=NO_CACHE)
async def measure_trial(number: int, scenario: str, run: Run, landing: Awaitable[None]) -> Path:
    """Measure one trial; the landing of the one before may still be going on at first."""
    trial = run.plan.trials[number - 1]
    bench = run.benches[trial.scenario.variant]
    try:
        # Shielded: a trial that is stopped must not stop the landing of the one before.
        return await measure(bench, trial, attempt=1, before_origin=asyncio.shield(landing))
    except TrialError as error:
        raise TrialError(f"trial {number} ({scenario}): {error.message}", TRIAL_REMEDY) from error


@task(name="land", task_run_name="land {number:03d}", cache_policy=NO_CACHE)
async def land_trial(number: int, directory: Path, run: Run) -> None:
    """Bring one trial directory into the warehouse, now or with a later one."""
    await asyncio.to_thread(_land, directory, run)


def _land(directory: Path, run: Run) -> None:
    run.landings.add(directory)
    with run.watch.adding("landing"):
        run.landings.land()


@task(name="validate", cache_policy=NO_CACHE)
async def validate(run: Run) -> ValidationReport:
    """Judge whether everything is there and consistent."""
    return await asyncio.to_thread(_validate, run)


def _validate(run: Run) -> ValidationReport:
    return validate_in(run.home, run.plan.run_id)


@task(name="report", cache_policy=NO_CACHE)
async def report(run: Run) -> Path:
    """Write the run's page."""
    return await asyncio.to_thread(_report, run)


def _report(run: Run) -> Path:
    with open_warehouse(run.home, read_only=True) as warehouse:
        reading = read_run(warehouse, run.plan.run_id)
    return write_reading(reading, run.home / "reports")


@flow(name="benchmark", flow_run_name="{experiment}", persist_result=False)
async def benchmark(
    experiment: str = "pool-lab",
    home: str = "var",
    label: str | None = None,
    repetitions: int | None = None,
    seed: int | None = None,
    limits: LimitsMode = "auto",
    pg_bin: str | None = None,
) -> Finished:
    """Run one experiment from its file to its report.

    Raises:
        PoolexpError: see `poolexp.errors`; nothing half-made is left.
    """
    keep_supervision()
    watch = Stopwatch()
    source, text = source_of(experiment)
    chosen = load_experiment(experiment, repetitions=repetitions, seed=seed)
    plan = make_plan(without_limits(chosen) if limits == "off" else chosen, new_run_id())
    place = prepare_home(Path(home))
    with hold_home(place, plan.run_id), reporting(plan, make_console()) as out:
        async with AsyncExitStack() as stack:
            binaries = Path(pg_bin) if pg_bin else None
            provided = await provision(plan, place, stack, limits, binaries, out)
            run = Run(plan, place, provided.benches, watch)
            run.record(plan_document(plan, Source(source, text, label)), provided.document)
            watch.lap("start_up")
            await _measure_all(run, out)
        return await _conclude(run, provided.limits, out)


async def _measure_all(run: Run, out: Reporter) -> None:
    try:
        await _trials(run, out)
    except BaseException as error:
        run.finish(*_failure(error))
        raise
    run.watch.lap("trials")
    run.finish("complete")
    await run.land_the_rest()


async def _trials(run: Run, out: Reporter) -> None:
    """Measure one trial after another; each lands while the next one opens its connections."""
    landing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    landing.set_result(None)
    try:
        for trial in run.plan.trials:
            out.trial_begins(trial)
            directory = await measure_trial(trial.number, trial.scenario.slug, run, landing)
            landing = asyncio.ensure_future(land_trial(trial.number, directory, run))
            out.trial_ends(trial, _remark(trial))
    finally:
        # What has been measured lands, also when the run breaks off.
        await asyncio.wait([landing])
    landing.result()


def _remark(trial: Trial) -> str:
    workers = trial.scenario.concurrency
    return f"{trial.planned_measured} requests" if workers is None else f"{workers} workers"


def _failure(error: BaseException) -> tuple[str, str]:
    if isinstance(error, PoolexpError):
        return "failed", error.message
    if isinstance(error, Exception):
        return "failed", f"{type(error).__name__}: {error}"
    return "interrupted", "stopped by a signal"


async def _conclude(run: Run, limits: LimitsState, out: Reporter) -> Finished:
    out.begin("validating")
    validation = await validate(run)
    run.watch.lap("validation")
    out.begin("writing the report")
    path = await report(run)
    run.watch.lap("report")
    return Finished(
        run_id=run.plan.run_id,
        validation=validation,
        limits=limits,
        report=path,
        wall_s=run.watch.seconds,
        measuring_s=run.plan.measuring_s,
    )
