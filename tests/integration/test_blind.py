"""Conditions under blind names, one of which does 25 % more real work, on a quiet machine.

Takes minutes, and says nothing on a busy machine: then the gates leave its blocks out, and it is
skipped. `POOLEXP_BLIND_MEASURE_S` gives the length of a window, by default 4 s.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

POOLEXP = Path(sys.executable).with_name("poolexp")
MEASURE_S = float(os.environ.get("POOLEXP_BLIND_MEASURE_S", "4"))

BLIND = f"""\
name = "blind"
question = "Which of them does more work?"

[design]
repetitions = 8
seed = 11
warm_up_s = 1
measure_s = {MEASURE_S}

[database]
max_connections = 20
limits = {{ cpu_cores = 0.5, period_ms = 10 }}

[generator]
limits = {{ cpu_cores = 0.5, period_ms = 10 }}

[pool]
size = 5

[[workload]]
name = "heavy-burst"
sql = \"\"\"
SELECT sum(length(md5(payload || id::text)))
FROM pool_lab WHERE id BETWEEN :id AND :id + :span - 1\"\"\"
arrivals = {{ kind = "burst", size = 10, rate_per_s = 40 }}
[workload.parameters]
id = {{ min = 1, max = 20000, room_for = "span" }}
span = {{ calibrate_cpu_ms = 5, max = 20000 }}

[[variant]]
name = "amber"

[[variant]]
name = "birch"
work = 1.25

[[variant]]
name = "cedar"
"""


def _verdicts(home: Path, *options: str) -> dict[str, tuple[str | None, int, float]]:
    """Verdict, blocks and ratio of each variant against the first."""
    (home / "blind.toml").write_text(BLIND, encoding="utf-8")
    call = [str(POOLEXP), "run", str(home / "blind.toml"), "--home", str(home / "home")]
    ran = subprocess.run([*call, *options], capture_output=True, text=True, check=False)
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    assert "Validation: passed" in ran.stdout
    question = """
        SELECT level, verdict, blocks, ratio FROM comparisons
        WHERE kind = 'primary' AND run_id = (SELECT max(run_id) FROM runs)"""
    asked = [str(POOLEXP), "sql", question, "--home", str(home / "home"), "--format", "json"]
    rows = json.loads(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)
    return {row["level"]: (row["verdict"], row["blocks"], row["ratio"]) for row in rows}


@pytest.mark.long
def test_in_eight_blocks_only_what_does_more_work_is_called_worse(
    tmp_path: Path, groups_allowed: None
) -> None:
    found = _verdicts(tmp_path)
    assert set(found) == {"birch", "cedar"}
    if min(blocks for _, blocks, _ in found.values()) < 7:
        pytest.skip(f"this machine was too busy: {found}")
    assert found["birch"][0] == "worse", found
    assert found["cedar"][0] in ("not decided", "no relevant difference"), found


@pytest.mark.long
def test_in_three_blocks_it_is_at_most_indicated(tmp_path: Path, groups_allowed: None) -> None:
    found = _verdicts(tmp_path, "--repetitions", "3")
    if min(blocks for _, blocks, _ in found.values()) < 3:
        pytest.skip(f"this machine was too busy: {found}")
    assert found["birch"][0] in ("indicated worse", "not decided"), found
    assert found["cedar"][0] in ("not decided", "no relevant difference"), found
