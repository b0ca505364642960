"""What the overrides ask for: every combination once, in the order in which it was written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra

from dpbench.base.errors import Refused
from dpbench.registry.lookup import registry
from dpbench.sweeps.grid import GridPoint
from dpbench.sweeps.hydra.composition import grid_points

DropIn = Callable[[str, str], Path]


def chosen(points: list[GridPoint], *keys: str) -> list[Any]:
    """What the points have at some keys: tuples where there are several."""

    def at(config: Any, key: str) -> Any:
        value = config
        for part in key.split("."):
            value = value.get(part)
        return value["name"] if isinstance(value, dict) else value

    rows = [tuple(at(point.config, key) for key in keys) for point in points]
    return [row[0] for row in rows] if len(keys) == 1 else rows


def test_nothing_asked_is_one_cell_of_defaults() -> None:
    (point,) = grid_points([])
    assert point.axes == {}
    assert chosen([point], "mechanism", "model", "dataset", "attack", "epsilon", "seed") == [
        ("fm", "linear", "census", "none", 1.0, 0)
    ]


def test_groups_and_values_are_multiplied_the_last_one_fastest() -> None:
    points = grid_points(["mechanism=fm,dpba", "epsilon=0.1,0.8,3.2", "model=linear,ridge"])
    expected = [
        (mechanism, epsilon, model)
        for mechanism in ("fm", "dpba")
        for epsilon in (0.1, 0.8, 3.2)
        for model in ("linear", "ridge")
    ]
    assert chosen(points, "mechanism", "epsilon", "model") == expected
    assert [tuple(point.axes.values()) for point in points] == expected


def test_the_order_is_the_commands_not_the_groups() -> None:
    points = grid_points(["epsilon=0.8,0.1", "mechanism=fm,dpba"])
    assert chosen(points, "epsilon", "mechanism") == [(0.8, "fm"), (0.8, "dpba"), (0.1, "fm"), (0.1, "dpba")]


def test_a_fixed_value_is_no_axis() -> None:
    (point,) = grid_points(["mechanism=dpba", "epsilon=0.4", "splits.repeats=3"])
    assert point.axes == {}
    assert chosen([point], "mechanism", "epsilon", "splits.repeats") == [("dpba", 0.4, 3)]


def test_an_option_that_one_mechanism_has_gives_the_other_no_copies() -> None:
    points = grid_points(["mechanism=fm,dpba,no_privacy", "mechanism.convention=monomial,matrix", "mechanism.alpha=0.3,0.6"])
    assert chosen(points, "mechanism", "mechanism.convention", "mechanism.alpha") == [
        ("fm", "monomial", None),
        ("fm", "matrix", None),
        ("dpba", None, 0.3),
        ("dpba", None, 0.6),
        ("no_privacy", None, None),
    ]
    assert [sorted(point.axes) for point in points] == [["mechanism", "mechanism.convention"]] * 2 + [
        ["mechanism", "mechanism.alpha"]
    ] * 2 + [["mechanism"]]


def test_an_option_that_both_have_is_multiplied() -> None:
    points = grid_points(["mechanism=fm,dpba", "mechanism.ridge=1,2"])
    assert chosen(points, "mechanism", "mechanism.ridge") == [("fm", 1), ("fm", 2), ("dpba", 1), ("dpba", 2)]


def test_keys_of_one_kind_of_splits_give_the_other_no_copies() -> None:
    points = grid_points(["splits=kfold,holdout", "splits.folds=2,3", "splits.repeats=1"])
    assert chosen(points, "splits.scheme", "splits.folds") == [("kfold", 2), ("kfold", 3), ("holdout", None)]


@pytest.mark.parametrize(
    ("override", "key", "values"),
    [
        ("epsilon=0.8,0.8,0.80", "epsilon", [0.8]),
        ("mechanism=fm,fm", "mechanism", ["fm"]),
        ("epsilon=choice(0.1,0.8)", "epsilon", [0.1, 0.8]),
        ("epsilon=choice(0.1)", "epsilon", [0.1]),
        ("epsilon=range(1,4)", "epsilon", [1, 2, 3]),
        ("epsilon=range(0.5,2,0.5)", "epsilon", [0.5, 1.0, 1.5]),
        ("epsilon=sort(3,1,2)", "epsilon", [1, 2, 3]),
        ("mechanism=glob(no_*)", "mechanism", ["no_privacy"]),
        ("mechanism=glob([f?,dpba],exclude=fp)", "mechanism", ["dpba", "fm"]),
        ("mechanism='fm','dpba'", "mechanism", ["fm", "dpba"]),
        ('mechanism="dpba"', "mechanism", ["dpba"]),
        ("dataset.attributes=[alcohol,ph]", "dataset.attributes", [["alcohol", "ph"]]),
        ("dataset.attributes=[alcohol,ph],[ph],null", "dataset.attributes", [["alcohol", "ph"], ["ph"], None]),
        ("dataset.attributes=['alcohol',\"ph\"]", "dataset.attributes", [["alcohol", "ph"]]),
        ("mechanism.ridge=auto,2,0.5", "mechanism.ridge", ["auto", 2, 0.5]),
        ("mechanism.repair='trim',floor", "mechanism.repair", ["trim", "floor"]),
        ("model.intercept=true,false", "model.intercept", [True, False]),
        ("engine=serial", "engine", ["serial"]),
        ("tracking.uri=sqlite:///here.db", "tracking.uri", ["sqlite:///here.db"]),
        ("tracking.experiment='a, b=c'", "tracking.experiment", ["a, b=c"]),
    ],
)
def test_the_grammar_of_values(override: str, key: str, values: list[Any]) -> None:
    assert chosen(grid_points([override]), key) == values


def test_a_star_is_every_component() -> None:
    assert chosen(grid_points(["mechanism=glob(*)"]), "mechanism") == list(registry().names("mechanism"))


def test_a_key_that_is_given_twice_is_refused() -> None:
    with pytest.raises(Refused, match="The key 'epsilon' is given 2 times"):
        grid_points(["epsilon=1", "mechanism=fm", "epsilon=2"])


def test_an_interval_has_no_values_to_sweep() -> None:
    with pytest.raises(Refused, match=r"epsilon=interval\(0\.1,0\.8\)"):
        grid_points(["epsilon=interval(0.1,0.8)"])


@pytest.mark.parametrize("override", ["mechanism@other=fm", "epsilon=0.8,", "epsilon='0.8", "=1", "+epsilon=1"])
def test_what_cannot_be_read_is_refused(override: str) -> None:
    with pytest.raises(Refused):
        grid_points([override])


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (["mechanism=fmm"], "There is no mechanism named 'fmm'. Did you mean fm"),
        (["mechanism=fm,dbpa"], "There is no mechanism named 'dbpa'. Did you mean dpba"),
        (["mechanism=glob(z*)"], "The override of mechanism matches nothing. Known: "),
        (["model=linera"], "There is no model named 'linera'. Did you mean linear"),
        (["dataset=whine"], "There is no dataset named 'whine'. Did you mean wine"),
        (["attack=nome"], "There is no attack named 'nome'. Did you mean none"),
        (["engine=seril"], "There is no engine named 'seril'. Did you mean serial"),
        (["splits=kfolds"], "There is no splits named 'kfolds'. Did you mean kfold?"),
        (["mechanism.rigde=4"], "There is no option of fm named 'rigde'. Did you mean ridge?"),
        (["mechanism=fm,dpba", "mechanism.alhpa=0.5"], "There is no option of fm or dpba named 'alhpa'. Did you mean alpha?"),
        (["engine.worker=2"], "There is no key of engine named 'worker'. Did you mean workers or"),
        (["epsilom=1"], "There is no key named 'epsilom'. Did you mean epsilon?"),
        (["tracking.url=x"], "There is no key of tracking named 'url'. Did you mean uri?"),
        (["modle.intercept=true"], "There is no group named 'modle'. Did you mean model?"),
        (["mechanism.name=dpba"], "There is no option of fm named 'name'."),
        (["experiment=zhang"], "There is no experiment named 'zhang'."),
        (["hydra/sweeper=nope"], "hydra/sweeper/nope"),
    ],
)
def test_unknown_names_are_refused_with_the_near_ones(overrides: list[str], sentence: str) -> None:
    with pytest.raises(Refused) as refusal:
        grid_points(overrides)
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.fixture
def preset() -> str:
    """A preset that chooses, sets and sweeps, as a paper's figure does."""
    node = {
        "defaults": [{"override /dataset": "gaussian"}],
        "dataset": {"n": 60, "d": 2},
        "splits": {"repeats": 2},
        "seed": 7,
        "preset": {"title": "A figure", "quick": {"epsilon": "0.3"}},
        "hydra": {"sweeper": {"params": {"mechanism": "fm,dpba", "epsilon": "0.1,0.8"}}},
    }
    ConfigStore.instance().store(group="experiment/zhang", name="figure", package="_global_", node=node)
    return "experiment=zhang/figure"


def test_a_preset_sweeps_by_itself(preset: str) -> None:
    points = grid_points([preset])
    assert chosen(points, "mechanism", "epsilon") == [("fm", 0.1), ("fm", 0.8), ("dpba", 0.1), ("dpba", 0.8)]
    assert chosen(points, "dataset", "dataset.n", "splits.repeats", "seed") == [("gaussian", 60, 2, 7)] * 4


def test_the_command_line_overrules_a_preset(preset: str) -> None:
    points = grid_points([preset, "epsilon=5", "seed=1", "dataset.n=80,90"])
    assert chosen(points, "mechanism", "epsilon", "seed", "dataset.n") == [
        ("fm", 5, 1, 80),
        ("fm", 5, 1, 90),
        ("dpba", 5, 1, 80),
        ("dpba", 5, 1, 90),
    ]


def test_a_quick_run_of_a_preset_may_have_fewer_values_and_what_is_typed_stays(preset: str) -> None:
    assert chosen(grid_points([preset, "quick=true"]), "mechanism", "epsilon") == [("fm", 0.3), ("dpba", 0.3)]
    assert chosen(grid_points([preset, "quick=true", "epsilon=5"]), "mechanism", "epsilon") == [("fm", 5), ("dpba", 5)]
    assert len(grid_points([preset, "quick=false"])) == 4


def test_an_unknown_preset_names_the_near_ones(preset: str) -> None:
    with pytest.raises(Refused, match=r"no experiment named 'zhang/figrue'\. Did you mean zhang/figure"):
        grid_points(["experiment=zhang/figrue"])


def test_one_preset_at_a_time(preset: str) -> None:
    with pytest.raises(Refused, match="One experiment at a time"):
        grid_points(["experiment=zhang/figure,other"])


def test_an_unrelated_hydra_application_is_left_as_it_was() -> None:
    before = GlobalHydra.instance().hydra
    grid_points([])
    with pytest.raises(Refused):
        grid_points(["mechanism=nope"])
    assert GlobalHydra.instance().hydra is before


def test_points_share_no_state() -> None:
    first, second = grid_points(["epsilon=1,2"])
    first.config["mechanism"]["ridge"] = 99
    assert second.config["mechanism"]["ridge"] != 99


def test_a_strangers_option_is_swept_without_yaml(drop_in: DropIn) -> None:
    drop_in(
        "mine",
        '''
        from dataclasses import dataclass
        from dpbench import Mechanism, hookimpl, option
        from dpbench.contracts.mechanism import Fit

        @dataclass(frozen=True)
        class Mine(Mechanism):
            """Mine."""

            name = "mine"
            columns: tuple[str, ...] = option(("a", "b"), help="names")
            weights: dict[str, float] = option({"a": 1.0}, help="numbers by name")

            def fit(self, curator, problem, budget):
                raise NotImplementedError

        @hookimpl
        def dpbench_mechanisms():
            return [Mine]
        ''',
    )
    points = grid_points(["mechanism=mine,fm", "mechanism.columns=[c],[d,e]", "mechanism.weights={a:1,b:2}"])
    assert chosen(points, "mechanism", "mechanism.columns") == [("mine", ["c"]), ("mine", ["d", "e"]), ("fm", None)]
    assert points[0].config["mechanism"]["weights"] == {"a": 1, "b": 2}


@pytest.mark.parametrize("value", ["März.csv", "a(1).csv", "a=b.csv", "~/x y.csv", ";"])
def test_a_files_name_needs_no_quotes(value: str) -> None:
    """The grammar of overrides cannot read some of them; only options of the data and the store are helped."""
    (point,) = grid_points([f"dataset.{'delimiter' if value == ';' else 'path'}={value}", "dataset=table"])
    assert value in (point.config["dataset"]["path"], point.config["dataset"]["delimiter"])
    with pytest.raises(Refused, match="cannot be read"):
        grid_points(["epsilon='0.8"])


def test_a_threshold_without_a_binary_model_is_refused() -> None:
    """It would have no effect; in a sweep one binary model is enough."""
    with pytest.raises(Refused, match=r"dataset\.threshold is for binary models.*no effect on linear and ridge"):
        grid_points(["dataset=wine", "dataset.threshold=5", "model=linear,ridge"])
    assert len(grid_points(["dataset=wine", "dataset.threshold=5", "model=linear,logistic"])) == 2


def test_zipped_keys_vary_together_components_as_well_as_options() -> None:
    grid = ["mechanism=fm,fm,dpba", "epsilon=1,2,1", "model=linear,ridge", "zip=mechanism,epsilon"]
    assert chosen(grid_points(grid), "mechanism", "epsilon", "model") == [
        *(("fm", 1, "linear"), ("fm", 1, "ridge"), ("fm", 2, "linear")),
        *(("fm", 2, "ridge"), ("dpba", 1, "linear"), ("dpba", 1, "ridge")),
    ]


def test_zip_and_skip_are_no_part_of_a_configuration() -> None:
    with_rules = grid_points(["epsilon=1,2", "seed=0,1", "zip=epsilon,seed", "skip={seed:1}"])
    assert [(point.config, point.axes) for point in with_rules] == [
        (point.config, {"epsilon": 1, "seed": 0}) for point in grid_points(["epsilon=1", "seed=0"])
    ]


def test_a_preset_may_zip_and_skip_and_a_request_replaces_both(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    params = {"mechanism": "fm,dpba", "epsilon": "1,2", "seed": "0,1", "model": "linear,ridge"}
    rules = {"zip": ["epsilon", "seed"], "skip": [{"mechanism": "dpba", "model": "ridge"}]}
    text = json.dumps({"hydra": {"sweeper": {"params": {**params, **rules}}}})
    (tmp_path / "experiment" / "mine.yaml").write_text("# @package _global_\n" + text)

    def points(*typed: str) -> list[GridPoint]:
        return grid_points(["experiment=mine", *typed], str(tmp_path))

    assert len(points()) == 6
    assert (len(points("zip=null")), len(points("skip=null"))) == (12, 8)
    assert len(points("skip={model:ridge}")) == 4
    assert len(points("epsilon=1", "seed=0")) == 3
    narrowed = points("mechanism=fm")
    assert len(narrowed) == 4
    assert narrowed[0].notes == ("No combination is {mechanism: dpba, model: ridge}, which the preset's skip would leave out.",)
    with pytest.raises(Refused, match="Got 1 of epsilon and 2 of seed"):
        points("epsilon=1")


def test_a_preset_whose_rules_name_other_keys_than_its_own_is_refused(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    for rule in ({"zip": ["epsilon", "sede"]}, {"skip": {"sede": 1}}):
        text = json.dumps({"hydra": {"sweeper": {"params": {"epsilon": "1,2", "seed": "0,1", **rule}}}})
        (tmp_path / "experiment" / "mine.yaml").write_text("# @package _global_\n" + text)
        with pytest.raises(Refused, match="'sede', which has no values"):
            grid_points(["experiment=mine"], str(tmp_path))
