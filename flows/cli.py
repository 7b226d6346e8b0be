"""The command `poolexp`.

Exit codes: 0 done and valid; 1 the validation failed, a scenario has no usable trial, or a rebuild
is not whole; 2 a mistake in the call or in the experiment; 3 the environment refuses; 4 busy; 130
and 143 stopped by a signal.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from enum import StrEnum
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Annotated, Any

import typer

from flows import comparing, keeping, terminal
from flows.aa import read_aa, show_aa, write_aa_experiment
from flows.benchmark_result import Finished
from flows.console import make_console
from flows.frames import OutputFormat, refuse_binary_to_a_terminal, show_frame
from flows.options import HomeOption, RunArgument
from flows.prefect_server import prefect_api
from flows.provisioning import require_limits
from flows.signals import StoppedBySignalError, run_until_signal
from poolexp.aa import AaDesign
from poolexp.catalogue import built_in_names, load_experiment, source_of
from poolexp.errors import BusyError, ExperimentError, PoolexpError, UsageError
from poolexp.home import new_run_id, prepare_home, refuse_if_busy
from poolexp.plan import make_plan
from warehouse.database import open_warehouse
from warehouse.queries import resolve_run, run_sql
from warehouse.queries import runs as list_runs

INVALID, MISTAKE, REFUSED, BUSY = 1, 2, 3, 4


class LimitsMode(StrEnum):
    """What happens when a CPU limit cannot be set."""

    AUTO = "auto"
    REQUIRED = "required"
    OFF = "off"


app = typer.Typer(
    name="poolexp",
    help="Does a bigger connection pool make my requests faster, and where did the time go?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

ExperimentArgument = Annotated[
    str, typer.Argument(help="A built-in experiment, or the path of a TOML file.")
]
RepetitionsOption = Annotated[
    int | None, typer.Option("--repetitions", min=1, help="Instead of the experiment's own.")
]
SeedOption = Annotated[
    int | None, typer.Option("--seed", min=0, help="Instead of the experiment's own.")
]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"poolexp {installed_version('poolexp')}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="And exit.")
    ] = False,
) -> None:
    """Does a bigger connection pool make my requests faster, and where did the time go?"""


@app.command()
def run(
    experiment: ExperimentArgument = "pool-lab",
    home: HomeOption = Path("var"),
    label: Annotated[str | None, typer.Option(help="A name of your own for this run.")] = None,
    repetitions: RepetitionsOption = None,
    seed: SeedOption = None,
    limits: Annotated[
        LimitsMode,
        typer.Option(
            help="auto: go on without a limit that cannot be set, and say so; "
            "required: stop instead; off: ask for none."
        ),
    ] = LimitsMode.AUTO,
    pg_bin: Annotated[
        Path | None,
        typer.Option(
            "--pg-bin",
            exists=True,
            file_okay=False,
            help="A folder with other PostgreSQL programs.",
        ),
    ] = None,
    open_report: Annotated[
        bool, typer.Option("--open", help="Open the report in a browser at the end.")
    ] = False,
) -> None:
    """Measure an experiment: provision, run every trial, land, validate, report."""
    # What is wrong with the call is said at once, before Prefect is imported and started.
    chosen = load_experiment(experiment, repetitions=repetitions, seed=seed)
    if limits is LimitsMode.REQUIRED:
        require_limits(make_plan(chosen, new_run_id()))
    place = prepare_home(home)
    refuse_if_busy(place)
    finished = run_until_signal(
        _benchmark(
            place,
            experiment=experiment,
            label=label,
            repetitions=repetitions,
            seed=seed,
            limits=limits.value,
            pg_bin=str(pg_bin) if pg_bin else None,
        )
    )
    usable = _tell(place, finished)
    if open_report:
        typer.launch(finished.report.as_uri())
    raise typer.Exit(0 if finished.validation.success and usable else INVALID)


def _tell(home: Path, finished: Finished) -> bool:
    """Print what a run came to; whether every scenario has a usable trial."""
    with open_warehouse(home, read_only=True) as warehouse:
        shown = terminal.read_shown_run(warehouse, finished.run_id)
        noise = read_aa(warehouse, finished.run_id)
    terminal.show_run(make_console(), shown)
    show_aa(make_console(), noise)
    terminal.show_end(make_console(), finished)
    return not shown.gating.unusable


async def _benchmark(home: Path, **parameters: Any) -> Finished:  # noqa: ANN401 - the flow's
    make_console().print("starting Prefect")
    async with prefect_api(home):
        # Prefect reads its environment when it is imported.
        from flows.benchmark import benchmark

        finished: Finished = await benchmark(home=str(home), **parameters)
        return finished


@app.command()
def aa(
    experiment: ExperimentArgument = "pool-lab",
    scenario: Annotated[
        list[str] | None,
        typer.Option(help="Which one, as `poolexp plan` names it; may be repeated."),
    ] = None,
    pairs: Annotated[
        int, typer.Option(min=6, max=1000, help="Blocks, each with both twins once.")
    ] = 20,
    power: Annotated[
        bool, typer.Option("--power", help="Measure 10 % and 25 % more real work as well.")
    ] = False,
    measure_s: Annotated[
        float | None, typer.Option("--measure-s", min=0.1, help="Length of a window, in seconds.")
    ] = None,
    home: HomeOption = Path("var"),
    seed: SeedOption = None,
    limits: Annotated[LimitsMode, typer.Option(help="As for `run`.")] = LimitsMode.AUTO,
) -> None:
    """Measure the noise: equal conditions under blind names, and how often they are told apart."""
    wanted = AaDesign(tuple(scenario or ()), pairs, power, measure_s)
    place = prepare_home(home)
    path = write_aa_experiment(experiment, wanted, place, seed=seed)
    chosen = load_experiment(str(path))
    if limits is LimitsMode.REQUIRED:
        require_limits(make_plan(chosen, new_run_id()))
    refuse_if_busy(place)
    finished = run_until_signal(
        _benchmark(place, experiment=str(path), limits=limits.value, label=chosen.name)
    )
    usable = _tell(place, finished)
    raise typer.Exit(0 if finished.validation.success and usable else INVALID)


@app.command()
def plan(
    experiment: ExperimentArgument = "pool-lab",
    repetitions: RepetitionsOption = None,
    seed: SeedOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show the trials of an experiment in their order and the time they take; run nothing."""
    chosen = load_experiment(experiment, repetitions=repetitions, seed=seed)
    planned = make_plan(chosen, "not run")
    if as_json:
        typer.echo(json.dumps(terminal.plan_as_json(planned), indent=1))
    else:
        terminal.show_plan(make_console(), planned)


@app.command()
def experiments(
    name: Annotated[
        str | None, typer.Argument(help="Print the file of this one, to copy and edit.")
    ] = None,
) -> None:
    """List the built-in experiments, or print one as a file to start from."""
    if name is not None:
        typer.echo(source_of(name)[1], nl=False)
    else:
        terminal.show_experiments(
            make_console(), [load_experiment(each) for each in built_in_names()]
        )


@app.command()
def runs(home: HomeOption = Path("var")) -> None:
    """List the runs in the warehouse, the newest first."""
    with open_warehouse(home, read_only=True) as warehouse:
        listed = list_runs(warehouse)
    terminal.show_runs(make_console(), listed)


@app.command()
def show(run: RunArgument = "latest", home: HomeOption = Path("var")) -> None:
    """Show one run's summary in the terminal."""
    with open_warehouse(home, read_only=True) as warehouse:
        run_id = resolve_run(warehouse, run)
        shown = terminal.read_shown_run(warehouse, run_id)
        noise = read_aa(warehouse, run_id)
    terminal.show_run(make_console(), shown)
    show_aa(make_console(), noise)


@app.command()
def validate(run: RunArgument = "latest", home: HomeOption = Path("var")) -> None:
    """Judge again whether a run is complete and consistent."""
    from warehouse.validate import validate_in

    with open_warehouse(home, read_only=True) as warehouse:
        run_id = resolve_run(warehouse, run)
    judged = validate_in(home, run_id)
    terminal.show_validation(make_console(), judged)
    raise typer.Exit(0 if judged.success else INVALID)


@app.command()
def report(
    run: RunArgument = "latest",
    home: HomeOption = Path("var"),
    open_report: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
) -> None:
    """Write a run's report again and print its path."""
    from reports.reading import read_run
    from reports.run_report import write_reading

    with open_warehouse(home, read_only=True) as warehouse:
        reading = read_run(warehouse, resolve_run(warehouse, run))
    path = write_reading(reading, home / "reports")
    typer.echo(path)
    if open_report:
        typer.launch(path.resolve().as_uri())


@app.command()
def sql(
    statement: Annotated[str, typer.Argument(help='For instance "SELECT * FROM runs".')],
    home: HomeOption = Path("var"),
    output: Annotated[
        OutputFormat, typer.Option("--format", help="How the rows are printed.")
    ] = OutputFormat.TABLE,
) -> None:
    """Ask the warehouse in SQL; nothing can be changed and no file can be read."""
    refuse_binary_to_a_terminal(output)
    with open_warehouse(home, read_only=True) as warehouse:
        frame = run_sql(warehouse, statement)
    show_frame(make_console(), frame, output)


for _command in (
    comparing.compare,
    comparing.history,
    keeping.rebuild,
    keeping.export,
    keeping.import_,
    keeping.prune,
):
    app.command(_command.__name__.rstrip("_"))(_command)


def exit_code(error: PoolexpError) -> int:
    """The documented exit code of an error."""
    if isinstance(error, ExperimentError | UsageError):
        return MISTAKE
    return BUSY if isinstance(error, BusyError) else REFUSED


def main() -> None:
    """Run the command; every error raised on purpose becomes one message and an exit code."""
    os.umask(0o077)
    try:
        app()
    except PoolexpError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(exit_code(error))
    except StoppedBySignalError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("stopped by SIGINT", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
