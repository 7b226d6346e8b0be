"""What `poolexp sql` prints: the same rows in every format, whatever their types."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from flows.console import make_console
from flows.frames import TABLE_ROWS, OutputFormat, show_frame
from warehouse.database import open_warehouse
from warehouse.queries import run_sql

ODD = """
SELECT
    NULL AS nothing, '' AS empty, 'a,"b' || chr(10) AS quoted, TRUE AS truth,
    sum(n) AS total, 1.50 AS short, 12345678901234567890.5 AS long, 'nan'::DOUBLE AS nan,
    TIMESTAMP '2026-01-02 03:04:05' AS at, TIMESTAMPTZ '2026-01-02 03:04:05+01' AS zoned,
    TIMESTAMP '2026-01-02' - TIMESTAMP '2026-01-01' AS "the gap", [1, 2] AS list, {'a': 1} AS pair,
    MAP {1: 2} AS map, '\\xAB'::BLOB AS bytes, 'µ' AS "µ"
FROM trial_summary; -- the end; really
"""


@pytest.fixture
def frame(landed_home: Path) -> pl.DataFrame:
    with open_warehouse(landed_home, read_only=True) as warehouse:
        return run_sql(warehouse, ODD)


def printed(
    frame: pl.DataFrame, output: OutputFormat, capfdbinary: pytest.CaptureFixture[bytes]
) -> bytes:
    show_frame(make_console(), frame, output)
    sys.stdout.flush()
    return capfdbinary.readouterr().out


def test_csv(frame: pl.DataFrame, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    text = printed(frame, OutputFormat.CSV, capfdbinary).decode()
    row = dict(next(csv.DictReader(io.StringIO(text, newline=""))))
    assert text.splitlines()[1].startswith(',"",'), "NULL is nothing, an empty text is quoted"
    assert row["quoted"] == 'a,"b\n'
    assert row["total"] == "5040"
    assert row["long"] == "12345678901234567890.5"
    assert row["at"].startswith("2026-01-02T03:04:05")
    assert row["zoned"].startswith("2026-01-02T02:04:05")
    assert row["the gap"] == "1 day"
    assert json.loads(row["list"]) == [1, 2]
    assert json.loads(row["pair"]) == {"a": 1}
    assert json.loads(row["map"]) == {"1": 2}
    assert row["bytes"] == "ab"
    assert row["µ"] == "µ"


def test_json(frame: pl.DataFrame, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (row,) = json.loads(printed(frame, OutputFormat.JSON, capfdbinary))
    assert (row["nothing"], row["empty"], row["nan"]) == (None, "", None)
    assert (row["total"], row["short"]) == (5040, 1.5)
    assert row["long"] == "12345678901234567890.5", "no digit is lost"
    assert row["the gap"] == "1 day"
    assert (row["list"], row["pair"]) == ([1, 2], {"a": 1})
    assert json.loads(row["map"]) == {"1": 2}
    assert row["bytes"] == "ab"


def test_parquet(frame: pl.DataFrame, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    read = pl.read_parquet(printed(frame, OutputFormat.PARQUET, capfdbinary))
    assert read.columns == frame.columns
    assert read["total"].to_list() == frame["total"].to_list()


@pytest.mark.parametrize("rows", [0, 1, 120_001])
def test_every_row_is_printed_once(capfdbinary: pytest.CaptureFixture[bytes], rows: int) -> None:
    frame = pl.DataFrame({"n": range(rows)}, schema={"n": pl.Int64})
    text = printed(frame, OutputFormat.CSV, capfdbinary)
    assert text == b"n\n" + b"".join(b"%d\n" % n for n in range(rows))
    assert json.loads(printed(frame, OutputFormat.JSON, capfdbinary)) == frame.to_dicts()


def test_a_long_table_is_cut_and_says_so(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    frame = pl.DataFrame({"n": range(TABLE_ROWS + 1)})
    text = printed(frame, OutputFormat.TABLE, capfdbinary).decode()
    assert "1,001 rows; the first 1,000 are shown" in text
    assert f" {TABLE_ROWS} " not in text


MAIN = "from flows.cli import main; main()"


def _sql(home: Path, *arguments: str, stdout: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, "sql", "--home", str(home), *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
    )


def test_parquet_is_not_written_to_a_terminal(landed_home: Path) -> None:
    ours, theirs = os.openpty()
    with _sql(landed_home, "SELECT 1", "--format", "parquet", stdout=theirs) as process:
        _, err = process.communicate()
    os.close(theirs)
    os.close(ours)
    assert process.returncode == 2
    assert b"binary" in err


def test_a_reader_that_has_seen_enough_is_no_error(landed_home: Path) -> None:
    with _sql(
        landed_home, "FROM range(1000000)", "--format", "csv", stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"range\n"
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
