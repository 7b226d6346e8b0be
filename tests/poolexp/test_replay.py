"""Files of arrivals: read, refused, and made part of an experiment."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from poolexp.catalogue import load_experiment
from poolexp.errors import ExperimentError
from poolexp.plan import make_plan, schedule_for
from poolexp.replay import read_replay

EXPERIMENT = """\
name = "replayed"
[design]
warm_up_s = 0.01
measure_s = 0.06
[pool]
size = 2
[[workload]]
name = "light"
sql = "SELECT 1"
arrivals = { kind = "replayed", file = "offsets.txt" }
"""


def write(folder: Path, offsets: str, experiment: str = EXPERIMENT) -> str:
    (folder / "offsets.txt").write_text(offsets, encoding="utf-8")
    path = folder / "replayed.toml"
    path.write_text(experiment, encoding="utf-8")
    return str(path)


def test_offsets_are_whole_nanoseconds_and_the_file_is_known_by_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "offsets.txt"
    path.write_text("# Monday\n\n0\n12.5  # twice\n12.5\n20.000001\n", encoding="utf-8")
    replay = read_replay(path)
    assert replay.offsets_ns == (0, 12_500_000, 12_500_000, 20_000_001)
    assert replay.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0\nsoon\n", "line 2: 'soon' is no offset"),
        ("-1\n", "line 1: '-1' is no offset"),
        ("nan\n", "line 1: 'nan' is no offset"),
        ("5\n4\n", "line 2: 4 is less than the offset before it"),
        ("# nothing\n", "holds no offset"),
    ],
)
def test_what_is_no_file_of_arrivals_is_refused_with_its_line(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "offsets.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_replay(path)


def planned(source: str) -> list[int]:
    experiment = load_experiment(source)
    found = schedule_for(experiment, "light", seed=1)
    assert found is not None
    return list(found.planned_ns)


def test_the_file_lies_beside_the_experiment_and_is_cut_at_the_window_s_end(tmp_path: Path) -> None:
    assert planned(write(tmp_path, "0\n10\n10\n70\n")) == [0, 10_000_000, 10_000_000]


def test_equal_offsets_are_a_burst(tmp_path: Path) -> None:
    found = schedule_for(load_experiment(write(tmp_path, "0\n10\n10\n70\n")), "light", seed=1)
    assert found is not None
    assert (list(found.burst), list(found.position)) == ([0, 1, 1], [0, 0, 1])


def test_a_file_that_is_too_short_is_refused_unless_it_is_to_begin_again(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="ends at 5 ms, before the trial does at 70 ms"):
        load_experiment(write(tmp_path, "0\n5\n"))
    again = EXPERIMENT.replace('txt" }', 'txt", repeat_every_ms = 15 }')
    expected = [0, 5, 15, 20, 30, 35, 45, 50, 60, 65]
    assert planned(write(tmp_path, "0\n5\n", again)) == [each * 1_000_000 for each in expected]
    sooner = EXPERIMENT.replace('txt" }', 'txt", repeat_every_ms = 5 }')
    with pytest.raises(ExperimentError, match="larger than the last offset, 5 ms"):
        load_experiment(write(tmp_path, "0\n5\n", sooner))


@pytest.mark.parametrize("offsets", ["0\n9.999999\n70\n", "0\n70\n", "500\n"])
def test_a_file_that_sends_nothing_within_the_window_is_refused(
    tmp_path: Path, offsets: str
) -> None:
    with pytest.raises(ExperimentError, match="nothing would arrive within the window, from 10 to"):
        load_experiment(write(tmp_path, offsets))


@pytest.mark.parametrize(
    ("offsets", "every_ms", "sends"),
    [("0\n", 70, False), ("0\n", 69.999999, True), ("0\n", 10, True), ("9\n", 61, False)],
)
def test_repetitions_count_for_what_is_within_the_window(
    tmp_path: Path, offsets: str, every_ms: float, sends: bool
) -> None:
    again = EXPERIMENT.replace('txt" }', f'txt", repeat_every_ms = {every_ms} }}')
    if sends:
        found = schedule_for(load_experiment(write(tmp_path, offsets, again)), "light", seed=1)
        assert found is not None
        assert found.measured > 0
    else:
        with pytest.raises(ExperimentError, match="nothing would arrive"):
            load_experiment(write(tmp_path, offsets, again))


def test_the_contents_are_part_of_the_experiment_s_digest_but_not_of_its_plan(
    tmp_path: Path,
) -> None:
    first = load_experiment(write(tmp_path, "0\n40\n70\n"))
    other = load_experiment(write(tmp_path, "0\n41\n70\n"))
    assert first.digest != other.digest
    stored: dict[str, Any] = first.model_dump(mode="json")["workload"][0]["arrivals"]
    assert set(stored) == {"kind", "file", "repeat_every_ms", "sha256"}
    assert make_plan(first, "run").planned_measured == 3, "one in each block"


def test_a_missing_file_and_keys_that_are_not_for_people_are_said(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"arrivals\.file.*No such file"):
        load_experiment(write(tmp_path, "0\n", EXPERIMENT.replace("offsets.txt", "other.txt")))
    inline = EXPERIMENT.replace('txt" }', 'txt", sha256 = "00" }')
    with pytest.raises(ExperimentError, match=r"arrivals\.sha256.*not said here"):
        load_experiment(write(tmp_path, "0\n40\n", inline))
