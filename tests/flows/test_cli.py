"""The command line: what it accepts, what it refuses, and with which exit code."""

import asyncio
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from synthetic_runs import write_run
from typer.core import TyperGroup
from typer.main import get_command

from flows import cli
from flows.progress import reporting
from flows.provisioning import provisioned
from poolexp.catalogue import load_experiment, parse_experiment, source_of
from poolexp.errors import ExperimentError
from poolexp.home import hold_home
from poolexp.plan import Plan, make_plan
from warehouse.database import open_warehouse
from warehouse.load import load_run

ROOT = Path(__file__).parents[2]


class Called:
    """One call of the command in this process: exit code and what it printed."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator["Caller"]:
    umask = os.umask(0o022)
    yield Caller(monkeypatch, capsys)
    os.umask(umask)  # which the command has changed, for this process too


class Caller:
    """Calls the command as a shell would."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *arguments: object) -> Called:
        self._monkeypatch.setattr(sys, "argv", ["poolexp", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = self._capsys.readouterr()
        code = ended.value.code
        assert code is None or isinstance(code, int)
        return Called(code or 0, captured.out, captured.err)


def test_every_command_has_help_and_is_in_the_readme(call: Caller) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    group = get_command(cli.app)
    assert isinstance(group, TyperGroup)
    commands = group.commands
    assert set(commands) >= {
        "run",
        "plan",
        "experiments",
        "runs",
        "show",
        "validate",
        "report",
        "sql",
        "rebuild",
        "export",
        "import",
        "prune",
    }
    documented = re.findall(r"^\|.*\|.*\|$", readme, re.MULTILINE)
    named = {name for line in documented for name in re.findall(r"`poolexp ([a-z]+)", line)}
    assert named == set(commands), "the README's table of commands"
    for name in commands:
        assert "--help" in call(name, "--help").out


def test_the_version(call: Caller) -> None:
    assert call("--version").out.startswith("poolexp 0.")


def test_the_catalogue_and_its_files(call: Caller) -> None:
    listed = call("experiments")
    assert "pool-lab-quick" in listed.out
    assert "30,240" in listed.out
    assert call("experiments", "pool-lab").out == source_of("pool-lab")[1]


def test_a_printed_experiment_can_be_planned_by_path(call: Caller, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(call("experiments", "pool-lab").out, encoding="utf-8")
    planned = call("plan", path)
    assert planned.code == 0
    assert "27 trials" in planned.out
    assert "30,240 requests" in planned.out
    assert list(tmp_path.iterdir()) == [path], "planning writes nothing"


def test_a_plan_as_json_is_the_plan(call: Caller) -> None:
    plan = json.loads(call("plan", "pool-lab", "--json", "--repetitions", 2, "--seed", 9).out)
    assert len(plan["trials"]) == 18
    expected = load_experiment("pool-lab", repetitions=2, seed=9)
    assert plan["experiment_hash"] == expected.digest
    assert plan["planned_measured"] == 20_160


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no experiment"),
        ("name = [", "1 problem"),
        ('name = "x"', "pool"),
        (source_of("pool-lab")[1].replace("[5, 20, 100]", "[5, 108]"), "at most 107 are free"),
    ],
)
def test_a_mistake_in_the_experiment_starts_nothing(
    call: Caller, tmp_path: Path, text: str | None, message: str
) -> None:
    path = tmp_path / "mine.toml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    home = tmp_path / "home"
    called = call("run", path, "--home", home)
    assert called.code == 2
    assert message in called.err
    assert "Traceback" not in called.err
    assert not home.exists()


def test_a_busy_home_is_refused_at_once(call: Caller, tmp_path: Path) -> None:
    with hold_home(tmp_path, "the-other-run"):
        called = call("run", "pool-lab-quick", "--home", tmp_path)
    assert called.code == 4
    assert "the-other-run" in called.err
    assert {path.name for path in tmp_path.iterdir()} == {"lock"}


def test_a_home_that_cannot_be_written_is_refused(call: Caller) -> None:
    called = call("run", "pool-lab-quick", "--home", "/proc/poolexp")
    assert called.code == 3
    assert "cannot be written" in called.err
    assert "--home" in called.err


@pytest.mark.parametrize("command", ["runs", "show", "validate", "report"])
def test_a_home_without_runs_is_said_and_stays_untouched(
    call: Caller, tmp_path: Path, command: str
) -> None:
    home = tmp_path / "home"
    called = call(command, "--home", home)
    assert called.code == 2
    assert "no runs yet" in called.err
    assert not home.exists()


def test_the_later_steps_on_a_landed_run(call: Caller, own_home: Path) -> None:
    assert "pool-lab-quick" in call("runs", "--home", own_home).out
    shown = call("show", "latest", "--home", own_home)
    assert "heavy-burst-pool-100" in shown.out
    assert "Gates: none of 27 trials gated." in shown.out
    validated = call("validate", "latest", "--home", own_home)
    assert (validated.code, "passed" in validated.out) == (0, True)
    report = call("report", "--home", own_home)
    assert Path(report.out.strip()).read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_an_unknown_run_names_the_known_ones(call: Caller, own_home: Path) -> None:
    called = call("show", "1999", "--home", own_home)
    assert called.code == 2
    assert "20261130T211530Z-3f9a" in called.err


@pytest.mark.parametrize("output", ["table", "csv", "json"])
def test_sql_in_each_format(call: Caller, own_home: Path, output: str) -> None:
    statement = "SELECT workload, count(*) AS n FROM trials GROUP BY 1 ORDER BY 1"
    called = call("sql", statement, "--home", own_home, "--format", output)
    assert called.code == 0
    if output == "csv":
        assert called.out == "workload,n\nheavy-burst,9\nheavy-uniform,9\nlight-uniform,9\n"
    elif output == "json":
        assert json.loads(called.out)[0] == {"workload": "heavy-burst", "n": 9}
    else:
        assert "heavy-uniform" in called.out
        assert "3 rows" in called.out


def test_sql_cannot_change_or_read_anything_else(call: Caller, own_home: Path) -> None:
    before = (own_home / "warehouse.duckdb").read_bytes()
    for statement in (
        "DELETE FROM raw.request",
        "COPY runs TO '/tmp/x.csv'",
        "ATTACH '/tmp/other.duckdb'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT 1; SELECT 2",
    ):
        called = call("sql", statement, "--home", own_home)
        assert called.code == 2, statement
        assert "Traceback" not in called.err
    assert (own_home / "warehouse.duckdb").read_bytes() == before


def test_what_a_person_named_never_steers_the_terminal(call: Caller, tmp_path: Path) -> None:
    label = "\x1b[31mred\u202e"
    with open_warehouse(tmp_path) as warehouse:
        load_run(warehouse, write_run(tmp_path, label=label))
    for command in ("runs", "show"):
        shown = call(command, "--home", tmp_path).out
        assert "red" in shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown


def test_rows_that_do_not_fit_stand_one_below_the_other(call: Caller, own_home: Path) -> None:
    shown = call("sql", "SELECT * FROM runs", "--home", own_home).out
    assert "row 1" in shown
    assert "experiment_hash" in shown
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown


@pytest.mark.parametrize("text", ["SELEC 1", "SELECT * FROM nowhere", "SELECT 1; SELECT 2"])
def test_a_statement_that_the_server_refuses_is_a_mistake_of_the_experiment(
    tmp_path: Path, text: str
) -> None:
    plan = make_plan(parse_experiment(one_statement(text), source="bad"), "run")
    with pytest.raises(ExperimentError, match=r"workload\[1\].sql: the server does not accept"):
        asyncio.run(provide(plan, tmp_path))
    assert list(tmp_path.iterdir()) == []


def one_statement(sql: str) -> dict[str, object]:
    load = {"name": "load", "sql": sql, "arrivals": {"kind": "uniform", "rate_per_s": 10.0}}
    return {"name": "bad", "pool": {"size": 1}, "workload": load}


async def provide(plan: Plan, home: Path) -> None:
    with reporting(plan, Console(quiet=True)) as reporter:
        async with provisioned(plan, home, limits="off", pg_bin=None, reporter=reporter):
            pass
