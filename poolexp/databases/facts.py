"""What a server is like: version, settings, transport, plans, room for connections."""

from __future__ import annotations

import asyncpg

from poolexp.databases.server import Server, connected
from poolexp.errors import StatementError
from poolexp.landing import JSON

# Settings that change what is measured: recorded even where they are at their default.
_NAMED = (
    "autovacuum",
    "checkpoint_timeout",
    "data_checksums",
    "default_transaction_isolation",
    "effective_cache_size",
    "fsync",
    "full_page_writes",
    "huge_pages",
    "huge_pages_status",
    "io_method",
    "io_workers",
    "jit",
    "log_min_duration_statement",
    "log_statement",
    "max_connections",
    "max_parallel_workers_per_gather",
    "max_wal_size",
    "max_worker_processes",
    "plan_cache_mode",
    "reserved_connections",
    "shared_buffers",
    "shared_preload_libraries",
    "superuser_reserved_connections",
    "synchronous_commit",
    "track_activities",
    "track_io_timing",
    "update_process_title",
    "wal_level",
    "work_mem",
)

# Others that differ from their default count as well, except what names a place, which differs
# from run to run and changes nothing, and what this connection itself has set.
_SETTINGS = """
SELECT name, current_setting(name) AS value
FROM pg_settings
WHERE name = ANY ($1)
   OR (source NOT IN ('default', 'override', 'client', 'session')
       AND name NOT IN ('port', 'data_directory', 'config_file', 'hba_file', 'ident_file'))
ORDER BY name
"""

_TRANSPORT = """
SELECT
    CASE WHEN inet_server_addr() IS NULL THEN 'unix' ELSE 'tcp' END AS socket,
    coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), FALSE) AS tls,
    version() AS build
"""

_FREE_CONNECTIONS = """
SELECT
    current_setting('max_connections')::int
    - current_setting('superuser_reserved_connections')::int
    - coalesce(current_setting('reserved_connections', TRUE), '0')::int
    - (
        SELECT count(*)
        FROM pg_stat_activity
        WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
    )
"""


async def server_facts(server: Server) -> JSON:
    """Tell what the server is: version, settings (with their units), kind of socket, TLS.

    `settings` has all that differ from their default, and those that matter in any case.
    Raises DatabaseError.
    """
    async with connected(server) as connection:
        settings = await connection.fetch(_SETTINGS, list(_NAMED))
        transport = await connection.fetchrow(_TRANSPORT)
    return {
        "version": server.version,
        **dict(transport),
        "settings": {row["name"]: row["value"] for row in settings},
    }


async def free_connections(server: Server) -> int:
    """Count the connections that an ordinary user can still open. Raises DatabaseError."""
    async with connected(server) as connection:
        return int(await connection.fetchval(_FREE_CONNECTIONS))


async def query_plan(server: Server, sql: str) -> list[str]:
    """Explain a statement with placeholders: the lines of its generic plan, without costs.

    The plan that `plan_cache_mode = force_generic_plan` brings does not depend on arguments, so
    NULLs stand for them. A statement that has no plan (CALL, for instance) gives an empty list.
    Raises StatementError when the server does not accept it.
    """
    async with connected(server) as connection:
        await connection.execute("SET plan_cache_mode = force_generic_plan")
        try:
            parameters = (await connection.prepare(sql)).get_parameters()
        except asyncpg.PostgresError as error:
            raise StatementError(f"the server does not accept the statement: {error}") from error
        try:
            await connection.execute(f"PREPARE explained AS {sql}")
        except asyncpg.PostgresSyntaxError:
            return []
        nulls = ", ".join("NULL" for _ in parameters)
        arguments = f"({nulls})" if nulls else ""
        rows = await connection.fetch(f"EXPLAIN (COSTS OFF) EXECUTE explained{arguments}")
    return [str(row[0]) for row in rows]
