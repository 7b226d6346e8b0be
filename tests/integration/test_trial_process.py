"""The generator in its own process, against a real server: what it records, and when it fails."""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from poolexp.arrivals import ArrivalSchedule, schedule
from poolexp.databases.server import Server, connected
from poolexp.errors import TrialError
from poolexp.generator_process import Column, GeneratorProcess, generator_process
from poolexp.request_log import (
    ACQUIRE_TIMEOUT,
    DONE,
    ERROR,
    GIVEN_UP,
    INSTANTS,
    NEVER,
    QUERY_TIMEOUT,
    unpacked_sqlstate,
)
from poolexp.workload import BurstArrivals, UniformArrivals

SOON_NS = 20_000_000
DEFAULTS: Mapping[str, Any] = {}


def uniform(rate_per_s: float = 100, measure_s: float = 0.5) -> ArrivalSchedule:
    arrivals = UniformArrivals(kind="uniform", rate_per_s=rate_per_s)
    return schedule(arrivals, warm_up_s=0.1, measure_s=measure_s)


def order(
    server: Server,
    generator: GeneratorProcess,
    planned: ArrivalSchedule,
    *,
    pool: Mapping[str, Any] = DEFAULTS,
    **changes: Any,
) -> dict[str, Any]:
    return {
        "connect": server.connect_arguments(),
        "pool": {"size": 3, **pool},
        "acquire_timeout_s": None,
        "query_timeout_s": None,
        "sql": "SELECT $1::int",
        "arguments": [[seq] for seq in range(len(planned))],
        "keys": None,
        "closed_loop": None,
        "planned_ns": planned.planned_ns.tolist(),
        "spin_ns": 100_000,
        "window_ns": [planned.warm_up_ns, planned.end_ns],
        "drain_s": 5.0,
        "log_descriptor": generator.log_descriptor,
        **changes,
    }


async def run_trial(
    server: Server, planned: ArrivalSchedule, **changes: Any
) -> tuple[dict[str, Column], dict[str, Any]]:
    async with generator_process(None) as generator:
        await generator.tell(**order(server, generator, planned, **changes))
        await generator.hear("opened", within_s=30)
        origin_ns = time.monotonic_ns() + SOON_NS
        await generator.tell(origin_ns=origin_ns)
        await generator.hear("measured", within_s=30)
        facts = await generator.hear("closed", within_s=30)
        return generator.columns(origin_ns), facts


async def test_every_planned_request_is_recorded_in_order_and_none_is_early(
    server: Server,
) -> None:
    planned = uniform()
    columns, facts = await run_trial(server, planned)
    assert len(columns["outcome"]) == len(planned) == 60
    assert set(columns["outcome"]) == {DONE}
    instants = np.vstack([np.array(planned.planned_ns), *(columns[name] for name in INSTANTS)])
    assert (np.diff(instants, axis=0) >= 0).all(), "the instants of each request are in order"
    assert len(set(columns["backend_pid"])) <= 3
    assert facts["connections_opened"] == 3
    assert facts["connections_lost"] == 0
    assert set(columns["sqlstate"]) == {NEVER}


async def test_a_burst_larger_than_the_pool_waits_for_connections(server: Server) -> None:
    arrivals = BurstArrivals(kind="burst", size=6, rate_per_s=30)
    planned = schedule(arrivals, warm_up_s=0, measure_s=0.4)
    columns, _ = await run_trial(server, planned, sql="SELECT pg_sleep(0.02), $1::int")
    waits_ms = (columns["acquired_ns"] - columns["requested_ns"]).reshape(-1, 6) / 1e6
    assert (waits_ms[:, 3:] > 15).all(), "three wait until a connection comes back"
    assert np.median(waits_ms[:, :3]) < 15, "three connections are free"


async def test_a_failing_statement_is_an_outcome_with_its_sqlstate(server: Server) -> None:
    planned = uniform()
    columns, _ = await run_trial(server, planned, sql="SELECT 1 / ($1::int - 5)")
    assert [seq for seq, code in enumerate(columns["outcome"]) if code != DONE] == [5]
    assert columns["outcome"][5] == ERROR
    states = [unpacked_sqlstate(int(state)) for state in columns["sqlstate"]]
    assert (states[5], states.count(None)) == ("22012", len(planned) - 1)
    assert columns["received_ns"][5] == NEVER
    assert columns["released_ns"][5] > 0, "its connection went back"
    assert columns["ended_ns"][5] >= columns["released_ns"][5]


async def test_a_trial_in_which_every_request_fails_is_told_like_any_other(
    server: Server,
) -> None:
    planned = uniform(rate_per_s=20_000, measure_s=0.4)
    # The connections are warmed with the first arguments.
    columns, _ = await run_trial(
        server, planned, sql="SELECT 1 / (CASE WHEN $1::int = 0 THEN 1 ELSE 0 END)"
    )
    assert len(planned) == 10_000
    assert (columns["outcome"] == ERROR).sum() == len(planned) - 1
    assert {unpacked_sqlstate(int(each)) for each in columns["sqlstate"]} == {None, "22012"}


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("x" * 70_000, "it said more than 65,536 bytes in one line"),
        ("Traceback (most recent", "it said 'Traceback"),
        ("[1, 2]", r"it said '\[1, 2\]'"),
        ("7", "it said '7'"),
        ('{"opened": true}', "it said '{"),
    ],
)
async def test_what_is_no_report_is_said_in_words(
    monkeypatch: pytest.MonkeyPatch, said: str, words: str
) -> None:
    program = ["-c", f"print({said!r}, flush=True)"]
    monkeypatch.setattr("poolexp.generator_process.PROGRAM", program)
    async with generator_process(None) as generator:
        with pytest.raises(TrialError, match=f"should report 'opened' {words}"):
            await generator.hear("opened", within_s=30)


async def test_acquire_timeouts_are_outcomes_and_the_trial_ends_on_time(server: Server) -> None:
    planned = uniform(rate_per_s=20)
    columns, _ = await run_trial(
        server,
        planned,
        pool={"size": 1},
        sql="SELECT pg_sleep(0.4), $1::int",
        acquire_timeout_s=0.1,
    )
    assert set(columns["outcome"]) == {DONE, ACQUIRE_TIMEOUT}
    timed_out = columns["outcome"] == ACQUIRE_TIMEOUT
    assert (columns["acquired_ns"][timed_out] == NEVER).all()
    waited_ms = (columns["ended_ns"] - columns["requested_ns"])[timed_out] / 1e6
    assert (waited_ms >= 98).all(), "the driver's timeout is a millisecond coarse"


async def test_query_timeouts_are_outcomes_and_the_connection_is_used_again(
    server: Server,
) -> None:
    planned = uniform(rate_per_s=10)
    columns, facts = await run_trial(
        server,
        planned,
        pool={"size": 1},
        # The first arguments, with which the connections are warmed, take no time.
        sql="SELECT pg_sleep(CASE WHEN $1::int = 2 THEN 60 ELSE 0 END)",
        query_timeout_s=0.2,
    )
    assert columns["outcome"][2] == QUERY_TIMEOUT
    assert columns["received_ns"][2] == NEVER
    assert list(columns["outcome"]).count(DONE) == len(planned) - 1
    assert facts["connections_opened"] == 1


@pytest.mark.parametrize("selection", ["lifo", "fifo"])
@pytest.mark.parametrize("reset", [True, False])
async def test_whatever_the_driver_raises_is_an_outcome_and_its_connection_is_used_again(
    server: Server, selection: str, reset: bool
) -> None:
    planned = uniform()
    # The server's years go further than those of the language.
    columns, facts = await run_trial(
        server,
        planned,
        pool={"size": 1, "selection": selection, "reset": reset},
        sql="SELECT make_date(2000 + CASE WHEN $1::int % 20 = 7 THEN 9999 ELSE 0 END, 1, 1)",
        query_timeout_s=2.0,
    )
    failed = [seq for seq, code in enumerate(columns["outcome"]) if code != DONE]
    assert failed == [7, 27, 47]
    assert set(columns["outcome"][failed]) == {ERROR}
    assert (columns["released_ns"] > 0).all()
    [entry] = facts["errors"]
    assert entry["count"] == 3
    assert 0 < len(entry["message"]) <= 200


async def test_what_is_not_done_after_the_drain_is_given_up_and_recorded(server: Server) -> None:
    planned = uniform(rate_per_s=10, measure_s=0.3)
    columns, _ = await run_trial(
        server,
        planned,
        pool={"size": 1},
        sql="SELECT pg_sleep(CASE WHEN $1::int = 1 THEN 60 ELSE 0 END)",
        drain_s=0.3,
    )
    assert list(columns["outcome"]) == [DONE, *[GIVEN_UP] * 3]
    assert (columns["ended_ns"] != NEVER).all()
    async with connected(server) as connection:
        sleeping = await connection.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(CASE%' "
            "AND state = 'active'"
        )
    assert sleeping == 0, "the server was told to stop"


async def test_without_reset_the_release_asks_nothing_of_the_server(server: Server) -> None:
    planned = uniform(rate_per_s=200, measure_s=1)
    medians = {}
    for reset in (True, False):
        columns, _ = await run_trial(server, planned, pool={"reset": reset})
        medians[reset] = np.median(columns["released_ns"] - columns["received_ns"])
    assert medians[False] < medians[True] / 2, "a release with reset is one more round trip"


@pytest.mark.parametrize("selection", ["lifo", "fifo"])
async def test_warming_with_arguments_that_fail_is_counted_and_no_failure_of_the_trial(
    server: Server, selection: str
) -> None:
    planned = uniform()
    async with generator_process(None) as generator:
        changes: dict[str, Any] = {"pool": {"selection": selection}, "sql": "SELECT 1 / $1::int"}
        await generator.tell(**order(server, generator, planned, **changes))
        opened = await generator.hear("opened", within_s=30)
        origin_ns = time.monotonic_ns() + SOON_NS
        await generator.tell(origin_ns=origin_ns)
        await generator.hear("measured", within_s=30)
        await generator.hear("closed", within_s=30)
        columns = generator.columns(origin_ns)
    assert opened["warm_failures"] == 3
    assert list(columns["outcome"]) == [ERROR, *[DONE] * (len(planned) - 1)]


async def test_a_connection_that_is_lost_while_it_is_warmed_is_said(server: Server) -> None:
    planned = uniform()
    async with generator_process(None) as generator:
        sql = "SELECT pg_terminate_backend(pg_backend_pid()), $1::int"
        await generator.tell(**order(server, generator, planned, sql=sql))
        with pytest.raises(TrialError, match=r"generator failed: .*(terminat|closed)"):
            await generator.hear("opened", within_s=30)


async def test_a_refused_login_is_said_in_words_without_the_password(server: Server) -> None:
    planned = uniform()
    wrong = {**server.connect_arguments(), "password": "no-such-canary"}
    async with generator_process(None) as generator:
        await generator.tell(**order(server, generator, planned, connect=wrong))
        with pytest.raises(TrialError, match="InvalidPasswordError") as caught:
            await generator.hear("opened", within_s=30)
    assert "canary" not in str(caught.value)


async def test_a_process_that_dies_is_said(server: Server) -> None:
    planned = uniform()
    async with generator_process(None) as generator:
        await generator.tell(**order(server, generator, planned))
        await generator.hear("opened", within_s=30)
        await generator.kill()
        with pytest.raises(TrialError, match="ended before 'measured'"):
            await generator.hear("measured", within_s=30)
