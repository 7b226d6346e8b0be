import stat
from pathlib import Path

import pytest

from flows.aa import write_aa_experiment
from poolexp.aa import AaDesign
from poolexp.catalogue import load_experiment
from poolexp.errors import ExperimentError, UsageError
from poolexp.home import prepare_home

REPLAYED = """\
name = "mine"
[pool]
size = 4
[[workload]]
name = "light"
sql = "SELECT 1"
arrivals = { kind = "replayed", file = "monday.txt", repeat_every_ms = 100 }
[[variant]]
name = "base"
settings = { work_mem = "8MB" }
[[variant]]
name = "other"
"""


def test_the_file_that_is_run_can_be_read_and_run_again(tmp_path: Path) -> None:
    home = prepare_home(tmp_path / "home")
    path = write_aa_experiment("pool-lab", AaDesign(pairs=6, power=True), home, seed=5)
    made = load_experiment(str(path))
    assert path == home / "experiments" / f"pool-lab-aa-{made.digest[:8]}.toml"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (made.design.repetitions, made.design.seed, len(made.variant)) == (6, 5, 4)
    assert write_aa_experiment("pool-lab", AaDesign(pairs=6, power=True), home, seed=5) == path


def test_what_the_experiment_names_beside_itself_is_still_found(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(REPLAYED, encoding="utf-8")
    (tmp_path / "monday.txt").write_text("0\n10\n", encoding="utf-8")
    home = prepare_home(tmp_path / "home")
    path = write_aa_experiment(str(tmp_path / "mine.toml"), AaDesign(), home)
    made = load_experiment(str(path))
    assert [variant.settings for variant in made.variant] == [{"work_mem": "8MB"}] * 2
    assert len(list(made.scenarios())) == 2


def test_a_mistake_writes_nothing(tmp_path: Path) -> None:
    home = prepare_home(tmp_path / "home")
    before = sorted(home.iterdir())
    with pytest.raises(UsageError, match="no scenario 'nonsense'"):
        write_aa_experiment("pool-lab", AaDesign(scenarios=("nonsense",)), home)
    with pytest.raises(ExperimentError, match="light-uniform has no calibrated parameter"):
        wanted = AaDesign(scenarios=("light-uniform-pool-5",), power=True)
        write_aa_experiment("pool-lab", wanted, home)
    assert sorted(home.iterdir()) == before
