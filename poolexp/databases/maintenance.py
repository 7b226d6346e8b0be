"""What a server does of its own accord: checkpoints, vacuums, and recovery after a crash."""

from __future__ import annotations

from dataclasses import dataclass

from poolexp.databases.server import Server, connected


@dataclass(frozen=True, slots=True)
class Maintenance:
    """Counts of the server's own work since it started, and what of it is under way.

    Two readings that agree, with nothing under way in either, prove that there was none.
    `checkpoints_timed` and `checkpoints_requested` count when one begins, `checkpoints_done` when
    it ends (PostgreSQL 18; before it 0), `checkpoint_buffers` while it writes. Vacuum and analyze
    are counted when they end, by hand and automatic ones together, over all tables of the
    database. `checkpointer_since` is when its process began (seconds since 1970; None where the
    server does not say): a crash or a restart begins it anew.
    """

    checkpoints_timed: int
    checkpoints_requested: int
    checkpoints_done: int
    checkpoint_buffers: int
    checkpoints_running: int
    vacuums: int
    analyzes: int
    vacuums_running: int
    checkpointer_since: float | None


@dataclass(frozen=True, slots=True)
class MaintenanceSeen:
    """What two readings say of the time between them.

    Attributes:
        changed: there was maintenance, or it was under way.
        recovered: the server crashed and recovered, or was started again. What it was busy with
            then is a consequence, and its counts began anew, so `changed` says nothing of it.

    """

    changed: bool
    recovered: bool


def maintenance_between(before: Maintenance, after: Maintenance) -> MaintenanceSeen:
    """Judge two readings."""
    recovered = before.checkpointer_since != after.checkpointer_since
    running = any(
        (each.checkpoints_running, each.vacuums_running) != (0, 0) for each in (before, after)
    )
    return MaintenanceSeen(
        changed=not recovered and (running or before != after), recovered=recovered
    )


async def maintenance(server: Server) -> Maintenance:
    """Read the counts of checkpoints, vacuums and analyzes. Raises DatabaseError."""
    async with connected(server) as connection:
        major = connection.get_server_version().major
        counts = _CHECKPOINTS[min(max(major, 16), 18)]
        row = await connection.fetchrow(f"{counts} {_REST}")
    return Maintenance(**dict(row))


# Version 17 moved the checkpointer's counts into a view of its own, version 18 counts the ends.
_CHECKPOINTS = {
    18: """
SELECT
    c.num_timed AS checkpoints_timed,
    c.num_requested AS checkpoints_requested,
    c.num_done AS checkpoints_done,
    c.buffers_written AS checkpoint_buffers,
    rest.*
FROM pg_stat_checkpointer AS c
""",
    17: """
SELECT
    c.num_timed AS checkpoints_timed,
    c.num_requested AS checkpoints_requested,
    0 AS checkpoints_done,
    c.buffers_written AS checkpoint_buffers,
    rest.*
FROM pg_stat_checkpointer AS c
""",
    16: """
SELECT
    c.checkpoints_timed,
    c.checkpoints_req AS checkpoints_requested,
    0 AS checkpoints_done,
    c.buffers_checkpoint AS checkpoint_buffers,
    rest.*
FROM pg_stat_bgwriter AS c
""",
}
# Between checkpoints the checkpointer waits for nothing but something to do (an `Activity`).
_REST = """
CROSS JOIN (
    SELECT
        (SELECT coalesce(sum(vacuum_count + autovacuum_count), 0)::bigint FROM pg_stat_all_tables)
            AS vacuums,
        (SELECT coalesce(sum(analyze_count + autoanalyze_count), 0)::bigint FROM pg_stat_all_tables)
            AS analyzes,
        (SELECT count(*) FROM pg_stat_progress_vacuum)
        + (SELECT count(*) FROM pg_stat_progress_analyze) AS vacuums_running,
        (
            SELECT count(*)
            FROM pg_stat_activity
            WHERE backend_type = 'checkpointer' AND wait_event_type <> 'Activity'
        ) AS checkpoints_running,
        (
            SELECT extract(epoch FROM min(backend_start))::float8
            FROM pg_stat_activity
            WHERE backend_type = 'checkpointer'
        ) AS checkpointer_since
) AS rest
"""
