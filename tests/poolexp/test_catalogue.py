import tomllib
from pathlib import Path
from typing import Any

import pytest

from poolexp.catalogue import built_in_names, load_experiment, parse_experiment, source_of
from poolexp.errors import ExperimentError, UsageError
from poolexp.experiment import Experiment, without_limits

GOOD = """\
name = "mine"
[pool]
size = [5, 20]

[[workload]]
name = "light"
sql = "SELECT 1"
arrivals = { kind = "uniform", rate_per_s = 100 }

[[workload]]
name = "bursts"
sql = "SELECT :x"
parameters = { x = 3 }
arrivals = { kind = "burst", size = 10, rate_per_s = 40 }
"""


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def problems_of(text: str, path: Path) -> dict[str, str]:
    with pytest.raises(ExperimentError) as caught:
        load_experiment(write(path / "bad.toml", text))
    return {problem.place: problem.message for problem in caught.value.problems}


def test_every_built_in_experiment_is_valid_and_named_as_its_file() -> None:
    assert built_in_names() == ["pool-lab", "pool-lab-literal", "pool-lab-quick"]
    for name in built_in_names():
        assert load_experiment(name).name == name


def test_quick_differs_from_pool_lab_in_its_times_only() -> None:
    whole, quick = (load_experiment(name).model_dump() for name in ("pool-lab", "pool-lab-quick"))
    whole["name"], quick["name"] = "", ""
    assert quick["design"] | {"warm_up_s": 2.0, "measure_s": 12.0} == whole["design"]
    whole["design"], quick["design"] = {}, {}
    assert whole == quick


def test_a_copy_can_be_edited_and_run_by_its_path(tmp_path: Path) -> None:
    _, text = source_of("pool-lab")
    edited = write(tmp_path / "mine.toml", text.replace("[5, 20, 100]", "[7]"))
    assert load_experiment(edited).pool.size == (7,)


def test_a_single_value_and_a_list_of_one_are_the_same_factor() -> None:
    document = tomllib.loads(GOOD.replace("[5, 20]", "5"))
    assert parse_experiment(document, source="test").pool.size == (5,)


def test_scenarios_are_the_cross_product(tmp_path: Path) -> None:
    text = GOOD.replace("size = [5, 20]", "size = [5, 20]\nreset = [true, false]")
    experiment = load_experiment(write(tmp_path / "cross.toml", text))
    slugs = [scenario.slug for scenario in experiment.scenarios()]
    assert len(slugs) == len(set(slugs)) == 8
    assert "bursts-pool-20-no-reset" in slugs


def test_limits_can_be_a_factor(tmp_path: Path) -> None:
    text = GOOD + "\n[database]\nlimits = [{ cpu_cores = 0.5 }, {}]\n"
    experiment = load_experiment(write(tmp_path / "limits.toml", text))
    slugs = [scenario.slug for scenario in experiment.scenarios()]
    assert len(set(slugs)) == 8
    assert "light-pool-5-db-unlimited-gen-unlimited" in slugs


def test_an_experiment_survives_its_own_json() -> None:
    experiment = load_experiment("pool-lab")
    again = Experiment.model_validate_json(experiment.model_dump_json())
    assert again == experiment
    assert again.digest == experiment.digest
    assert experiment.digest != load_experiment("pool-lab", seed=3).digest


def test_without_limits_asks_for_none() -> None:
    bare = without_limits(load_experiment("pool-lab"))
    assert {limit for s in bare.scenarios() for limit in s.limits.values()} == {None}


def test_all_problems_come_at_once_each_with_its_line(tmp_path: Path) -> None:
    text = (
        GOOD.replace("size = [5, 20]", "size = [5, 500]\ncolour = 1")
        .replace("rate_per_s = 100", "rate_per_s = nan")
        .replace("size = 10,", "size = 0,")
    )
    found = problems_of(text, tmp_path)
    assert "a pool of 500 does not fit" in found.pop("pool.size, line 3")
    assert found == {
        "pool.colour, line 4": "Extra inputs are not permitted",
        "workload[1].arrivals.rate_per_s, line 9": "Input should be a finite number",
        "workload[2].arrivals.size, line 15": "Input should be greater than or equal to 1",
    }


def test_an_unknown_key_does_not_hide_a_pool_that_does_not_fit(tmp_path: Path) -> None:
    found = problems_of(GOOD.replace("size = [5, 20]", "size = [5, 500]\ncolour = 1"), tmp_path)
    assert set(found) == {"pool.colour, line 4", "pool.size, line 3"}
    assert "at most 107 are free" in found["pool.size, line 3"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rate_per_s = 100", "rate_per_s = -1"),
        ('name = "mine"', 'name = "Not Mine"'),
        ('name = "mine"', 'name = "mine"\ndesign = 3'),
        ('name = "light"', ""),
        ("[pool]", "[database]\nlimits = { cpu_cores = 0.001 }\n[pool]"),
        ("[pool]", "[database]\nmax_connections = 'many'\n[pool]"),
        ("[pool]", "[what]\never = 1\n[pool]"),
    ],
)
def test_no_mistake_in_one_part_hides_one_between_others(
    old: str, new: str, tmp_path: Path
) -> None:
    text = GOOD.replace("size = [5, 20]", "size = [5, 500]\nreset = [true, true]")
    text = text.replace(old, new, 1)
    messages = " ".join(problems_of(text, tmp_path).values())
    assert "a pool of 500 does not fit" in messages
    assert "a level is given twice" in messages
    assert len(problems_of(text, tmp_path)) >= 2


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ('name = "mine"', "", "name", "required"),
        ('name = "mine"', 'name = "../mine"', "name, line 1", "match pattern"),
        ("size = [5, 20]", "size = []", "pool.size, line 3", "at least 1 item"),
        ("size = [5, 20]", "size = [5, 5]", "pool.size, line 3", "twice"),
        ("size = [5, 20]", 'size = "5"', "pool.size[1], line 3", "integer"),
        ("size = [5, 20]", "size = true", "pool.size[1], line 3", "integer"),
        ('name = "bursts"', 'name = "light"', "workload[2].name, line 11", "twice"),
        ("x = 3", "y = 3", "workload[2], line 10", ":x"),
        (
            "rate_per_s = 100",
            "rate_per_s = 1e9",
            "workload[1].arrivals.rate_per_s, line 8",
            "5,000,000",
        ),
        (
            "rate_per_s = 100",
            "rate_per_s = 0.01",
            "workload[1].arrivals.rate_per_s, line 8",
            "nothing would",
        ),
        (
            'kind = "uniform", rate_per_s = 100',
            'kind = "poisson", rate_per_s = 0.5',
            "workload[1].arrivals.rate_per_s, line 8",
            "there might be none",
        ),
        (
            'arrivals = { kind = "uniform", rate_per_s = 100 }',
            "closed_loop = { concurrency = [2, 8], operations = 79 }",
            "workload[1].closed_loop.operations, line 8",
            "at least 10 for each worker, 80,",
        ),
        ("[pool]", "[design]\nmeasure_s = 0.04\n[pool]", "design.measure_s, line 3", "0.05"),
        (
            'kind = "uniform"',
            'kind = "poison"',
            "workload[1].arrivals, line 8",
            "'uniform', 'burst'",
        ),
        ("[pool]", '[pool]\nselection = "key_hash"', "pool.selection, line 3", "needs key"),
        ("[pool]", '[pool]\nkey = "x"', "pool.key, line 3", "only where selection is key_hash"),
        ("[pool]", '[pool]\nselection = ["fifo", "fifo"]', "pool.selection, line 3", "twice"),
        ("[pool]", "[generator]\nprocesses = 2\n[pool]", "pool.size, line 5", "a pool of 5"),
        (
            "arrivals = { kind",
            "closed_loop = { concurrency = 4 }\narrivals = { kind",
            "workload[1], line 5",
            "either arrivals or a closed_loop",
        ),
        ("[pool]", "[design]\nrepetitions = 5000\n[pool]", "design.repetitions, line 3", "1000"),
        (
            "[pool]",
            "[database]\nlimits = { cpu_cores = 0.001 }\n[pool]",
            "database.limits[1], line 3",
            "quota",
        ),
        (
            "[pool]",
            "[analysis]\nbaseline_pool_size = 6\n[pool]",
            "analysis.baseline_pool_size, line 3",
            "none of",
        ),
        (
            "[pool]",
            '[analysis]\nprimary = "rate_per_s"\n[pool]',
            "analysis.primary, line 3",
            "only closed loops",
        ),
        (
            "[pool]",
            '[analysis]\nprimary = "end_to_end_p99_ms"\n[pool]',
            "analysis.primary, line 3",
            "end_to_end_mean_ms",
        ),
    ],
)
def test_each_kind_of_mistake(old: str, new: str, place: str, message: str, tmp_path: Path) -> None:
    found = problems_of(GOOD.replace(old, new, 1), tmp_path)
    assert list(found) == [place]
    assert message in found[place]


def test_a_huge_matrix_is_refused(tmp_path: Path) -> None:
    text = GOOD.replace("size = [5, 20]", f"size = {list(range(1, 101))}")
    found = problems_of(text.replace("[pool]", "[design]\nrepetitions = 1000\n[pool]"), tmp_path)
    assert "200,000 trials" in found["design.repetitions, line 3"]


def test_broken_toml_names_the_place(tmp_path: Path) -> None:
    assert problems_of('name = "mine\n', tmp_path) == {
        "line 1, column 13": "illegal character '\\n'"
    }


def test_a_table_in_place_of_a_value_is_a_problem_not_a_crash(tmp_path: Path) -> None:
    document: dict[str, Any]
    for text in ("design = 3", "pool = []", "workload = 7", "[workload]\nname = 1"):
        document = tomllib.loads(text)
        with pytest.raises(ExperimentError):
            parse_experiment(document, source="test", text=text)


def test_an_unknown_experiment_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="pool-lab-quick"):
        load_experiment("pool-lap")


def test_a_directory_is_no_experiment(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_experiment(str(tmp_path))
