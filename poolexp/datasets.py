"""The data that experiments read: the same bytes on every machine, checked after loading."""

from __future__ import annotations

from dataclasses import dataclass

import asyncpg

from poolexp.databases.server import Server, connected
from poolexp.errors import DatabaseError


@dataclass(frozen=True, slots=True)
class DatasetFacts:
    """A data set as it was found: `bytes` is the table with its index, `digest` over all rows."""

    name: str
    rows: int
    bytes: int
    digest: str


@dataclass(frozen=True, slots=True)
class _Dataset:
    """How to make a table, and what must be true of it afterwards."""

    create: str
    fill: str
    check: str
    rows: int
    digest: str
    least_bytes: int
    most_bytes: int


# Every value is computed from the row's number, with nothing random and nothing of the locale.
# A payload of 128 characters makes table and index 3.8 MiB together.
_POOL_LAB = _Dataset(
    create="""
        CREATE TABLE pool_lab (
            id integer PRIMARY KEY,
            balance integer NOT NULL,
            payload text NOT NULL
        )
    """,
    fill="""
        INSERT INTO pool_lab (id, balance, payload)
        SELECT
            id,
            id::bigint * 7919 % 100000,
            md5('a' || id) || md5('b' || id) || md5('c' || id) || md5('d' || id)
        FROM generate_series(1, 20000) AS id
    """,
    check="""
        SELECT
            count(*) AS rows,
            pg_total_relation_size('pool_lab') AS bytes,
            md5(coalesce(string_agg(concat_ws(' ', id, balance, payload), '|' ORDER BY id), ''))
                AS digest
        FROM pool_lab
    """,
    rows=20_000,
    digest="3315c72cf9de4f2c28297582760c084b",
    least_bytes=3_700_000,
    most_bytes=4_300_000,
)

_DATASETS = {"pool_lab": _POOL_LAB}


async def load_dataset(server: Server, name: str) -> DatasetFacts:
    """Make a data set unless it is there, put the server at rest, and check every row.

    At rest means vacuumed, frozen, analysed and checkpointed: none of that is left to do while
    something is measured. Raises DatabaseError when the data are not what they must be.
    """
    dataset = _DATASETS[name]
    async with connected(server) as connection:
        if await connection.fetchval("SELECT to_regclass($1) IS NULL", name):
            async with connection.transaction():
                await connection.execute(dataset.create)
                await connection.execute(dataset.fill)
        await connection.execute(f"VACUUM (FREEZE, ANALYZE) {name}")
        await connection.execute("CHECKPOINT")
        return await _checked(connection, name, dataset)


async def _checked(connection: asyncpg.Connection, name: str, dataset: _Dataset) -> DatasetFacts:
    facts = DatasetFacts(name, **dict(await connection.fetchrow(dataset.check)))
    right_size = dataset.least_bytes <= facts.bytes <= dataset.most_bytes
    if (facts.rows, facts.digest) == (dataset.rows, dataset.digest) and right_size:
        return facts
    raise DatabaseError(
        f"the data set {name} is not as it must be: {facts.rows} rows in {facts.bytes} bytes with "
        f"digest {facts.digest}, instead of {dataset.rows} rows with digest {dataset.digest}",
        f"Another table has the name {name}, or something wrote into it: use another database.",
    )
