"""Private regressions are scikit-learn estimators: they keep its contract, pay once, and say what they promise."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import dpbench
from dpbench.base.errors import Refused
from dpbench.registry.lookup import build
from dpbench.releases import estimators
from dpbench.releases.budget_book import BudgetBook, Ceiling, Payer, entries_in
from dpbench.releases.fitted_rows import FittedRows
from dpbench.report.leaderboard.wording import TWO_CLASSES

pytest.importorskip("sklearn", minversion="1.6")
pytest.importorskip("opendp")

from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

EXPECTED_FAILURES: dict[str, str] = {}
"""The checks of scikit-learn that an estimator may fail, each with its reason: none, and never more than eight."""
BOUNDS = {"age": (18, 70), "sex": {"levels": ["f", "m"]}, "wage": (0, 3000)}


@pytest.fixture(autouse=True)
def _no_fit_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins as a process does: no rows were fitted."""
    monkeypatch.setattr(estimators, "FITTED_ROWS", FittedRows())


def people(n: int = 3000, seed: int = 0) -> tuple[pandas.DataFrame, pandas.Series]:
    generator = np.random.default_rng(seed)
    age, sex = generator.uniform(18, 70, n), generator.choice(["f", "m"], n)
    wage = np.clip(500 + 20 * age + 200 * (sex == "m") + generator.normal(0, 200, n), 0, 3000)
    return pandas.DataFrame({"age": age, "sex": sex}), pandas.Series(wage, name="wage")


def regressor(**options: Any) -> Any:
    return dpbench.PrivateRegressor(**{"epsilon": 2, "bounds": BOUNDS, **options})


def simulated(**options: Any) -> Any:
    return regressor(noise="simulation", random_state=0, **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["PrivateRegressor", "PrivateClassifier"])
def test_scikit_learns_own_checks_pass(name: str) -> None:
    estimator = getattr(dpbench, name)(bounds="data", noise="simulation", random_state=0)
    assert len(EXPECTED_FAILURES) <= 8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, expected_failed_checks=EXPECTED_FAILURES, on_fail=None, on_skip=None)
    assert {result["check_name"]: str(result["exception"]) for result in results if result["status"] == "failed"} == {}
    assert sum(result["status"] == "passed" for result in results) >= 40


def test_a_fit_is_a_release_with_statement_ledger_and_intervals() -> None:
    X, y = people()
    fitted = regressor().fit(X, y)
    assert fitted.score(X, y) > 0.5
    assert "OpenDP" in fitted.statement_
    assert fitted.ledger_ == fitted.release_.privacy["ledger"]
    assert fitted.ledger_["total"]["epsilon"] == pytest.approx(2)
    assert fitted.release_.privacy["noise"] == "secure"
    assert fitted.release_.privacy["vouched_by"]["passed"] is True
    assert list(fitted.intervals_.index) == ["intercept", "age", "sex=f", "sex=m"]
    assert (fitted.intervals_["low"] < fitted.intervals_["high"]).all()


def test_the_only_number_next_to_an_interval_is_its_estimate() -> None:
    """The weights of `boosted_adassp` are those of its last round: predictions use them, and intervals need not hold them."""
    fitted = simulated(mechanism="boosted_adassp", epsilon=1.0).fit(*people())
    rows = fitted.intervals_
    assert list(rows) == ["estimate", "standard_error", "low", "high", "scaled"]
    assert rows["estimate"].between(rows["low"], rows["high"]).all()
    weights = fitted.release_.weights_in_own_units()
    assert not np.allclose([weights[name] for name in rows.index], rows["estimate"])
    np.testing.assert_allclose(fitted.coef_, [weights[name] for name in fitted.coef_names_])


@pytest.mark.parametrize("mechanism", ["dp_gd", "boosted_adassp"])
def test_the_interval_of_a_level_that_no_row_has_holds_zero_or_is_infinite(mechanism: str) -> None:
    """In each of 6 seeds; that of `dp_gd` left 0 out in 17 of 24, of `boosted_adassp` in 8. The age has a finite one in most."""
    draws = np.random.default_rng(1)
    frame = pandas.DataFrame({"age": draws.uniform(18, 100, 6_000), "dept": draws.choice(["A", "B", "C"], 6_000)})
    target = pandas.Series(np.clip(5 + 0.1 * frame.age + draws.normal(0, 3, 6_000) + (frame.dept == "A"), 0, 60), name="los")
    bounds = {"age": (18, 100), "dept": {"levels": ["A", "B", "C", "never"]}, "los": (0, 60)}
    finite = 0
    for seed in range(6):
        model = dpbench.PrivateRegressor(mechanism, epsilon=1.2, bounds=bounds, noise="simulation", random_state=seed)
        rows = model.fit(frame, target).intervals_
        assert rows["low"]["dept=never"] <= 0 <= rows["high"]["dept=never"]
        finite += bool(np.isfinite(rows["high"]["age"]))
    assert finite >= 4


def test_a_fit_is_charged_to_the_table_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And a fit that would exceed the ceiling of that table draws nothing."""
    monkeypatch.setenv("DPBENCH_BUDGET_BOOK", str(tmp_path / "book.jsonl"))
    X, y = people()
    X.assign(wage=y).to_csv(tmp_path / "people.csv", index=False)
    table = Payer.of(build("dataset", {"name": "table", "path": str(tmp_path / "people.csv")})).digest
    BudgetBook().set_ceiling(Ceiling(3.0), table)
    charged = regressor(charge_to=str(tmp_path / "people.csv"), budget=dpbench.Budget(epsilon=10))
    charged.fit(X, y)
    (entry,) = entries_in(BudgetBook().records())
    assert (entry.table, entry.file, entry.state) == (table, "PrivateRegressor", "written")
    with pytest.raises(Refused, match="above its ceiling of 3"):
        charged.fit(X, y)
    simulated(charge_to="nowhere.csv").fit(X, y)
    assert len(entries_in(BudgetBook().records())) == 1


def test_the_file_as_it_was_when_the_fit_began_is_charged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DPBENCH_BUDGET_BOOK", str(tmp_path / "book.jsonl"))
    X, y = people()
    X.assign(wage=y).to_csv(tmp_path / "people.csv", index=False)
    payer = Payer.of(build("dataset", {"name": "table", "path": str(tmp_path / "people.csv")}))
    release = estimators.release

    def replace_file_and_release(*arguments: Any, **keywords: Any) -> Any:
        (tmp_path / "people.csv").write_text("age,sex,wage\n20,f,1000\n")
        return release(*arguments, **keywords)

    monkeypatch.setattr(estimators, "release", replace_file_and_release)
    regressor(charge_to=str(tmp_path / "people.csv")).fit(X, y)
    (entry,) = entries_in(BudgetBook().records())
    assert entry.table == payer.digest


def test_it_is_the_release_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """One path: the estimator hands a configuration to the function that the command calls."""
    configs: list[Any] = []

    def recorded(config: Any, *_: Any, **__: Any) -> Any:
        configs.append(config)
        raise Refused("enough")

    monkeypatch.setattr(estimators, "release", recorded)
    with pytest.raises(Refused, match="enough"):
        regressor(mechanism={"name": "fm", "ridge": 4}).fit(*people())
    assert configs[0]["mechanism"] == {"name": "fm", "ridge": 4}
    assert configs[0]["dataset"]["name"] == "table"
    assert configs[0]["budget"] == "matched"


def test_coefficients_in_own_units_predict_what_the_release_predicts() -> None:
    X, y = people()
    fitted = simulated().fit(X, y)
    design = np.column_stack([X["age"], X["sex"] == "f", X["sex"] == "m"])
    assert fitted.coef_names_ == ("age", "sex=f", "sex=m")
    by_hand = fitted.intercept_ + design @ fitted.coef_
    # values are truncated to multiples of 2^-16 of a range: 52 years and 3,000 of wage
    assert np.abs(by_hand - fitted.release_.predict(X, clip=False)).max() < 0.2


@pytest.mark.parametrize("before", ["fitted", "not fitted"])
def test_a_refused_fit_leaves_the_estimator_as_it_was(monkeypatch: pytest.MonkeyPatch, before: str) -> None:
    """Old weights would predict with new classes, or for columns in another order."""
    X = people()[0]
    X["hours"] = X["age"] / 2
    hired = np.where(X["age"] > 44, "yes", "no")
    bounds = {"age": (18, 70), "hours": (0, 40)}
    classifier = dpbench.PrivateClassifier(bounds=bounds, target_bounds=("no", "yes"), noise="simulation", random_state=0)
    if before == "fitted":
        classifier.fit(X[["age", "hours"]], hired)
    attributes = dict(vars(classifier))

    def refuse(*_: Any, **__: Any) -> None:
        raise Refused("enough")

    monkeypatch.setattr(estimators, "release", refuse)
    classifier.target_bounds = ("a", "b")
    with pytest.raises(Refused, match="enough"):
        classifier.fit(X[["hours", "age"]], np.where(hired == "yes", "a", "b"))
    classifier.target_bounds = attributes["target_bounds"]
    assert set(vars(classifier)) == set(attributes)
    assert [name for name, value in vars(classifier).items() if value is not attributes[name]] == []


def test_a_classifier_predicts_the_declared_classes_and_their_probabilities() -> None:
    X, y = people()
    hired = np.where(y > 1500, "yes", "no")
    fitted = dpbench.PrivateClassifier(epsilon=4, bounds={"age": (18, 70), "sex": "ignore"}, target_bounds=("yes", "no"))
    assert fitted.mechanism == TWO_CLASSES.released
    fitted.fit(X, hired)
    assert list(fitted.classes_) == ["no", "yes"]
    assert fitted.score(X, hired) > 0.7
    shares = fitted.predict_proba(X)
    assert shares.sum(axis=1) == pytest.approx(1)
    log_odds = fitted.intercept_ + X["age"].to_numpy() * fitted.coef_[0]
    assert shares[:, 1] == pytest.approx(1 / (1 + np.exp(-log_odds)), abs=1e-3)


def test_frames_arrays_and_a_pipeline_give_the_same_model() -> None:
    X, y = people()
    X = X[["age"]]
    bounds = {"age": (18, 70), "wage": (0, 3000)}
    frame = simulated(bounds=bounds).fit(X, y)
    array = simulated(bounds=([18], [70]), target_bounds=(0, 3000)).fit(X.to_numpy(), y.to_numpy())
    pipeline = make_pipeline(FunctionTransformer(), simulated(bounds=bounds)).fit(X, y)
    expected = frame.predict(X).tolist()
    assert array.predict(X.to_numpy()).tolist() == pipeline.predict(X).tolist() == expected
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"age": X["age"].to_numpy()})
    assert simulated(bounds=bounds).fit(table, y).predict(table).tolist() == expected


def test_a_declared_column_is_read_as_in_a_file() -> None:
    """A missing value gets its declared stand-in, and a frame without a declared column is refused by name."""
    X, y = people(400)
    X.loc[:20, "age"] = np.nan
    bounds = {**BOUNDS, "age": {"low": 18, "high": 70, "missing": 40}}
    assert np.isfinite(simulated(bounds=bounds).fit(X, y).coef_).all()
    with pytest.raises(Refused, match="has missing values"):
        simulated().fit(X, y)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bounds": None}, r"must be declared.*bounds=\{'age'"),
        ({"bounds": {"age": (18, 70), "wage": (0, 3000)}}, "Columns without bounds: 'sex'"),
        ({"bounds": {name: value for name, value in BOUNDS.items() if name != "wage"}}, "The target must have bounds too"),
        ({"bounds": {**BOUNDS, "aeg": (0, 1)}}, "no column with bounds named 'aeg'. Did you mean age"),
        ({"bounds": "data"}, "needs noise='simulation'"),
        ({"random_state": 0}, "Secure noise has no seed"),
        ({"noise": "none"}, "must be 'secure' or 'simulation'"),
        ({"model": "logistic"}, "needs a model of a real target"),
        ({"mechanism": "no_privacy"}, "Not with secure noise|no_privacy cannot be released"),
        ({"mechanism": "bset"}, "no mechanism named 'bset'"),
        ({"mechanism": ["fm", "ssp"]}, "is a name, or a mapping"),
        ({"epsilon": 0}, "epsilon"),
        ({"budget": 3}, r"must be a dpbench\.Budget"),
    ],
)
def test_nonsense_is_refused_before_anything_is_paid(options: dict[str, Any], words: str) -> None:
    with pytest.raises(Refused, match=words):
        regressor(**options).fit(*people(60))
    assert estimators.FITTED_ROWS._fits == []


@pytest.mark.parametrize("as_target", [False, True])
def test_a_refused_array_shows_no_cell(as_target: bool) -> None:
    """scikit-learn's own message would say which text it could not convert."""
    numbers, texts = np.arange(40.0), np.array([*["1"] * 39, "73519.83 USD"], dtype=object)
    X, y = (numbers, texts) if as_target else (texts, numbers)
    estimator = simulated(bounds=(0, 40), target_bounds=(0, 40))
    with pytest.raises(Refused, match="must be numbers") as refusal:
        estimator.fit(X[:, None], y)
    assert "73519" not in str(refusal.value)
    fitted = estimator.fit(numbers[:, None], numbers)
    with pytest.raises(Refused, match="must be numbers") as refusal:
        fitted.predict(texts[:, None].tolist())
    assert "73519" not in str(refusal.value)


def test_bounds_from_the_data_leak_loudly() -> None:
    X, y = people(200)
    with pytest.warns(UserWarning, match="LEAK: the bounds were read from the private rows"):
        fitted = simulated(bounds="data").fit(X, y)
    assert fitted.statement_.startswith("NO PRIVACY IS PROMISED")
    assert "LEAK: the bounds were read from the private rows" in fitted.statement_


def test_simulated_noise_comes_from_the_seed_and_promises_nothing() -> None:
    X, y = people(400)
    first, second = (simulated().fit(X, y) for _ in range(2))
    other = simulated().set_params(random_state=1).fit(X, y)
    assert first.coef_.tolist() == second.coef_.tolist() != other.coef_.tolist()
    assert "must not be published" in first.statement_
    assert "OpenDP" not in first.release_.made_by


def test_a_second_fit_on_the_same_rows_is_refused_without_a_budget() -> None:
    X, y = people(400)
    regressor().fit(X, y)
    with pytest.raises(Refused, match=r"fitted before in this process.*budget=dpbench\.Budget"):
        regressor(epsilon=1).fit(X, y)
    with pytest.raises(Refused, match="fitted before in this process"):
        regressor().fit(X.iloc[100:300], y.iloc[100:300])
    regressor().fit(*people(400, seed=1))


def test_a_budget_is_what_all_fits_on_the_rows_may_cost_together() -> None:
    """Copies of the estimator share it, because the rows are what pays."""
    X, y = people(400)
    estimator = regressor(mechanism="fm", budget=dpbench.Budget(epsilon=5))
    for _ in range(2):
        clone(estimator).fit(X, y)
    with pytest.raises(Refused, match=r"to ε = 6 at δ = 1e-06, above the budget of 5\. Nothing was drawn"):
        clone(estimator).fit(X, y)
    clone(estimator).set_params(epsilon=1).fit(X, y)


@pytest.mark.slow
def test_a_search_over_an_estimator_stops_at_its_second_fit() -> None:
    X, y = people(400)
    search = GridSearchCV(regressor(), {"epsilon": [0.5, 1]}, cv=3, error_score="raise")
    with pytest.raises(Refused, match="fitted before in this process"):
        search.fit(X, y)
    assert len(estimators.FITTED_ROWS._fits) == 1
    X, y = people(400, seed=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # by default a search goes on after a failed fit, but every further fit fails too
        with pytest.raises(Refused, match="fitted before"):
            search.set_params(error_score=np.nan).fit(X, y)
    assert len(estimators.FITTED_ROWS._fits) == 2


def test_importing_dpbench_imports_no_scikit_learn_and_a_missing_one_is_named(python: Callable[[str], str]) -> None:
    assert python("import sys, dpbench, dpbench.releases.fit_release; print('sklearn' in sys.modules)") == "False\n"
    missing = (
        "import sys; sys.modules['sklearn'] = None\nimport dpbench\n"
        "try:\n    dpbench.PrivateRegressor\nexcept Exception as error:\n    print(type(error).__name__, error)"
    )
    assert "pip install 'dp-regression-bench[sklearn]'" in python(missing)
