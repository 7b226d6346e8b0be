"""The only way to read the warehouse: views in, polars frames out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import duckdb
import polars as pl

from poolexp.errors import UsageError
from warehouse.complaints import is_about_the_file
from warehouse.database import Warehouse
from warehouse.statements import statement

_QUESTIONS = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)


def resolve_run(warehouse: Warehouse, reference: str) -> str:
    """The id of the run that a person means: an id, the start of one, a label, or `latest`.

    A label that several runs bear means the newest of them.

    Raises:
        UsageError: no run is meant, or several; the candidates are named.
    """
    known = _frame(warehouse, statement("run_labels"))
    ids: list[str] = known["run_id"].to_list()
    if not ids:
        raise UsageError("there are no runs yet", "Make one with `poolexp run`.")
    if reference in ids:
        return reference
    if reference == "latest":
        return ids[-1]
    labels = zip(ids, known["label"], strict=True)
    if labelled := [run_id for run_id, label in labels if label == reference]:
        return labelled[-1]
    return _only_one(reference, [run_id for run_id in ids if run_id.startswith(reference)], ids)


def _only_one(reference: str, matching: list[str], ids: list[str]) -> str:
    if len(matching) == 1 and reference:
        return matching[0]
    what = (
        f"{reference!r} fits {len(matching)} runs" if matching else f"there is no run {reference!r}"
    )
    candidates = (matching or ids)[-5:]
    raise UsageError(
        f"{what}; the newest {'of them' if matching else 'are'}: {', '.join(candidates)}",
        "Give an id, the start of one that no other shares, a label, or `latest`.",
    )


def runs(warehouse: Warehouse) -> pl.DataFrame:
    """All runs, the newest first."""
    return _frame(warehouse, "SELECT * FROM runs ORDER BY created_at DESC, run_id DESC")


def trials(warehouse: Warehouse, run_id: str) -> pl.DataFrame:
    """The planned trials of a run with what became of them, in the order of measurement."""
    return _frame(warehouse, "SELECT * FROM trials WHERE run_id = ? ORDER BY trial", run_id)


def trial_summary(warehouse: Warehouse, run_id: str) -> pl.DataFrame:
    """What each trial's window gave, in the order of measurement."""
    return _frame(warehouse, "SELECT * FROM trial_summary WHERE run_id = ? ORDER BY trial", run_id)


def scenario_summary(warehouse: Warehouse, run_id: str) -> pl.DataFrame:
    """What each scenario gave over its trials, in the order of the experiment's file."""
    return _frame(warehouse, statement("scenarios_in_order"), run_id)


def scenario_summary_all(warehouse: Warehouse, run_id: str) -> pl.DataFrame:
    """The same over all accepted trials, as if no block were excluded."""
    sql = "SELECT * FROM scenario_summary_all WHERE run_id = ? ORDER BY scenario"
    return _frame(warehouse, sql, run_id)


def gates(warehouse: Warehouse, run_id: str) -> pl.DataFrame:
    """What each gate found in each accepted trial, in the order of measurement."""
    return _frame(warehouse, "SELECT * FROM gates WHERE run_id = ? ORDER BY trial, number", run_id)


def gate_limits(warehouse: Warehouse) -> pl.DataFrame:
    """The gates with their effects, limits and reasons, in their order."""
    return _frame(warehouse, "SELECT * FROM gate_limits ORDER BY number")


def validations(warehouse: Warehouse, run_id: str) -> pl.DataFrame:
    """The results of a run's last validation, in their order; none if it was never validated."""
    return _frame(
        warehouse, "SELECT * FROM validations WHERE run_id = ? AND newest ORDER BY number", run_id
    )


def comparisons(warehouse: Warehouse, run_id: str) -> pl.DataFrame:
    """What each scenario of a run is against others, the primary ones first.

    There are none before the run was validated.
    """
    return _frame(warehouse, "SELECT * FROM comparisons WHERE run_id = ? ORDER BY number", run_id)


def drifts(warehouse: Warehouse, run_id: str) -> pl.DataFrame:
    """Whether a run's numbers moved while it went on: one row, none before it was validated."""
    return _frame(warehouse, "SELECT * FROM drifts WHERE run_id = ?", run_id)


def noise_floors(warehouse: Warehouse) -> pl.DataFrame:
    """All noise floors that were measured, the newest last."""
    sql = "SELECT * FROM noise_floors ORDER BY measured_at, scenario, metric, blocks"
    return _frame(warehouse, sql)


def failure_kinds(warehouse: Warehouse, run_id: str) -> pl.DataFrame:
    """What kinds of errors a run's accepted trials met: kind, first message, number of requests.

    The most frequent first; timeouts, and what was given up, are outcomes and no errors.
    """
    return _frame(warehouse, statement("failure_kinds"), run_id)


def run_facts(warehouse: Warehouse, run_id: str) -> dict[str, Any]:
    """What is known of a run besides its trials: the documents `plan`, `facts` and `outcome`.

    `facts` and `outcome` are empty until the run has written them.
    """
    frame = _frame(warehouse, "SELECT plan, facts, outcome FROM raw.run WHERE run_id = ?", run_id)
    if frame.is_empty():
        raise UsageError(f"there is no run {run_id!r}", "See `poolexp runs`.")
    return {
        name: json.loads(text) if text else {} for name, text in frame.row(0, named=True).items()
    }


def require_raw_rows(warehouse: Warehouse, run_id: str) -> None:
    """See that a run's requests and counters can be asked.

    Raises:
        UsageError: they were pruned.
    """
    sql = (
        "SELECT pruned_at, success FROM raw.pruned "
        "LEFT JOIN staging.newest_validations USING (run_id) WHERE run_id = ?"
    )
    row = warehouse.connection.execute(sql, [run_id]).fetchone()
    if row is not None:
        last = {
            True: "its last validation passed",
            False: "its last validation failed",
            None: "it was never validated",
        }[row[1]]
        raise UsageError(
            f"the requests of run {run_id} were pruned on {row[0]:%Y-%m-%d}: nothing can be judged "
            f"or drawn of them; its summaries are there, and {last}",
            "`poolexp rebuild` brings the rows of all runs back from their directories.",
        )


def latency_quantiles(
    warehouse: Warehouse, run_id: str, probabilities: Sequence[float]
) -> pl.DataFrame:
    """Quantiles of acquire wait, round trip and end to end of each trial with requests.

    One row a trial and probability; the nearest rank, an observed value. A failed request ranks
    as infinitely slow end to end: NULL where a quantile falls on one.
    """
    return _frame(warehouse, statement("latency_quantiles"), list(probabilities), run_id)


def noise_floors_of_run(warehouse: Warehouse, run_id: str) -> pl.DataFrame:
    """The noise floors that an A/A run measured, in the order in which it was asked."""
    sql = "SELECT * FROM noise_floors WHERE aa_run_id = ?"
    return _frame(warehouse, sql, run_id)


def aa_results(warehouse: Warehouse, run_id: str) -> pl.DataFrame:
    """How often an A/A run's comparisons came to a verdict; no rows for any other run."""
    return _frame(warehouse, "SELECT * FROM aa_results WHERE run_id = ?", run_id)


def dictionary(warehouse: Warehouse) -> pl.DataFrame:
    """Every column of the views for people, in order: relation, column, type, comment."""
    return _frame(warehouse, statement("dictionary"))


def run_sql(warehouse: Warehouse, text: str) -> pl.DataFrame:
    """The answer to one question in SQL that a person asked; it can only read the warehouse.

    Raises:
        UsageError: it is no single question, or DuckDB refuses it, with what it says.
    """
    if not warehouse.read_only:
        raise ValueError("a person's SQL runs on a warehouse that is open for reading only")
    try:
        statements = warehouse.connection.extract_statements(text)
        _require_question(statements, text)
        return _answer(warehouse.connection, statements[0].query)
    except duckdb.Error as error:
        if is_about_the_file(error):
            raise
        raise UsageError(
            f"the SQL was refused: {error}", "See the README's list of views."
        ) from None


def _answer(connection: duckdb.DuckDBPyConnection, query: str) -> pl.DataFrame:
    """The rows; intervals, such as the difference of two instants, as text: frames have none."""
    answer = connection.execute(query)
    intervals = [name for name, kind, *_ in answer.description or () if kind == "INTERVAL"]
    if intervals:
        quoted = ['"' + name.replace('"', '""') + '"' for name in intervals]
        as_text = ", ".join(f"{name}::VARCHAR AS {name}" for name in quoted)
        # The person's own question, which has been found to be one: what surrounds it only casts.
        question = _without_semicolon(query)
        answer = connection.execute(f"SELECT * REPLACE ({as_text}) FROM (\n{question}\n)")  # noqa: S608
    return answer.pl()


def _require_question(statements: Sequence[duckdb.Statement], text: str) -> None:
    if len(statements) != 1:
        raise UsageError(
            f"one SQL statement is expected, not {len(statements)}", "Give a single SELECT."
        )
    first_word = _first_word(text)
    # DuckDB takes some pragmas for questions, because it answers them by SELECT.
    if statements[0].type not in _QUESTIONS or first_word == "PRAGMA":
        raise UsageError(
            f"only questions can be asked here, not {first_word}",
            "Use SELECT (also WITH, FROM, DESCRIBE, SUMMARIZE); the warehouse is read only.",
        )


def _first_word(text: str) -> str:
    """The first word behind spaces and comments, which are no tokens, in capitals."""
    offset, _ = duckdb.tokenize(text)[0]
    return text.encode()[offset:].decode().split(maxsplit=1)[0].upper()


def _without_semicolon(text: str) -> str:
    """The text up to the semicolon that ends it; tokens are counted in bytes."""
    raw = text.encode()
    ends = [offset for offset, _ in duckdb.tokenize(text) if raw[offset : offset + 1] == b";"]
    return raw[: min(ends, default=len(raw))].decode()


def _frame(warehouse: Warehouse, sql: str, *parameters: str | list[float]) -> pl.DataFrame:
    return warehouse.connection.execute(sql, list(parameters)).pl()
