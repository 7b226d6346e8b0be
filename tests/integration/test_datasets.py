"""The data set, loaded for real: the same bytes everywhere, and noticed when they are not."""

import hashlib
from collections.abc import AsyncIterator

import pytest

from poolexp.databases.embedded import embedded_server
from poolexp.databases.maintenance import maintenance
from poolexp.databases.server import Server, connected
from poolexp.datasets import load_dataset
from poolexp.errors import DatabaseError

DIGEST = "3315c72cf9de4f2c28297582760c084b"


@pytest.fixture(scope="module")
async def own_server() -> AsyncIterator[Server]:
    """A server whose data may be spoiled."""
    async with embedded_server(group=None, max_connections=20) as running:
        yield running


async def spoil(server: Server, statement: str) -> None:
    async with connected(server) as connection:
        await connection.execute("DROP TABLE IF EXISTS pool_lab")
    await load_dataset(server, "pool_lab")
    async with connected(server) as connection:
        await connection.execute(statement)


async def test_it_has_the_published_size_and_the_same_digest_everywhere(server: Server) -> None:
    facts = await load_dataset(server, "pool_lab")
    assert (facts.name, facts.rows, facts.digest) == ("pool_lab", 20_000, DIGEST)
    assert facts.bytes / 2**20 == pytest.approx(3.8, abs=0.05)


async def test_the_digest_is_that_of_the_rows_as_python_computes_them(server: Server) -> None:
    def payload(row: int) -> str:
        return "".join(
            hashlib.md5(f"{letter}{row}".encode(), usedforsecurity=False).hexdigest()
            for letter in "abcd"
        )

    lines = [f"{row} {row * 7919 % 100_000} {payload(row)}" for row in range(1, 20_001)]
    text = "|".join(lines).encode()
    assert hashlib.md5(text, usedforsecurity=False).hexdigest() == DIGEST
    assert (await load_dataset(server, "pool_lab")).digest == DIGEST


async def test_loading_leaves_the_server_at_rest(own_server: Server) -> None:
    before = await maintenance(own_server)
    await load_dataset(own_server, "pool_lab")
    after = await maintenance(own_server)
    assert after.checkpoints_requested > before.checkpoints_requested
    assert after.vacuums > before.vacuums
    async with connected(own_server) as connection:
        frozen, visible, pages = await connection.fetchrow(
            "SELECT age(relfrozenxid) < 100, relallvisible, relpages"
            " FROM pg_class WHERE relname = 'pool_lab'"
        )
    assert frozen
    assert visible == pages > 0, "no page is left to be cleaned up by a reader"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE pool_lab SET balance = balance + 1 WHERE id = 7",
        "UPDATE pool_lab SET payload = upper(payload) WHERE id = 20000",
        "DELETE FROM pool_lab WHERE id = 1",
        "INSERT INTO pool_lab VALUES (20001, 0, '')",
        "TRUNCATE pool_lab",
    ],
)
async def test_data_that_were_changed_are_noticed(own_server: Server, statement: str) -> None:
    await spoil(own_server, statement)
    with pytest.raises(DatabaseError, match="not as it must be"):
        await load_dataset(own_server, "pool_lab")


async def test_a_bloated_table_is_noticed(own_server: Server) -> None:
    await spoil(own_server, "UPDATE pool_lab SET balance = balance")
    with pytest.raises(DatabaseError, match="bytes"):
        await load_dataset(own_server, "pool_lab")


async def test_a_stranger_of_the_same_name_is_refused_and_left_alone(own_server: Server) -> None:
    async with connected(own_server) as connection:
        await connection.execute("DROP TABLE IF EXISTS pool_lab")
        await connection.execute("CREATE TABLE pool_lab AS SELECT 'precious' AS mine")
    with pytest.raises(DatabaseError):
        await load_dataset(own_server, "pool_lab")
    async with connected(own_server) as connection:
        assert await connection.fetchval("SELECT mine FROM pool_lab") == "precious"
