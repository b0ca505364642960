"""A release: one fit with secure noise, a file that can be read back and predicts, and a refusal of whatever is not sound."""

from __future__ import annotations

import importlib.util
import json
import math
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import dpbench
from dpbench.__main__ import main
from dpbench.base.errors import Refused
from dpbench.privacy import secure_noise as secure
from dpbench.registry.lookup import registry
from dpbench.releases.released_intervals import ReleasedIntervals
from dpbench.releases.statement import DIVERGING_TEXT
from dpbench.report.leaderboard.wording import TWO_CLASSES
from dpbench.sweeps.hydra.config_groups import register

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("opendp") is None,
    reason="OpenDP is not installed: pip install 'dp-regression-bench[secure]' (opendp)",
)

WINE = ("mechanism=fm", "mechanism.sensitivity=tight", "dataset=wine", "epsilon=1")
SMALL = ("dataset=gaussian", "dataset.n=500", "dataset.d=2", "epsilon=1")
SECRET = 0.7318529418267353

PEOPLE = f'''
    from dataclasses import dataclass

    import numpy as np

    from dpbench import Dataset, Fit, Mechanism, Model, hookimpl, option
    from dpbench.data.table import Column, Table
    from dpbench.accounting.costs import Pure
    from dpbench.privacy.noise import laplace

    @dataclass(frozen=True)
    class People(Dataset):
        """Rows with a secret, a one-hot attribute, and a target in another unit."""

        name = "people"
        bounds_source = "made up with the rows' law"
        how: str = option("well", help="how it fails")

        def load(self, generator):
            if self.how == "raise":
                raise ValueError("row 3 is {SECRET!r}")
            rng = np.random.default_rng(5)
            x = np.column_stack([rng.uniform(100, 200, 4000), np.eye(3)[rng.integers(3, size=4000)]])
            y = 5 * x[:, 0] + 200 * x[:, 2]
            x[0, 0] = 100 + {SECRET!r}
            columns = (Column("height", 100, 200, "cm"), *(Column(f"town_{{i}}", 0, 1, group="town") for i in range(3)))
            return Table(columns, Column("income", 400, 1300, "€"), x, y, threshold=900, dropped=3 * (self.how == "drop"))

    @dataclass(frozen=True)
    class Odd(Mechanism):
        """Whatever can go wrong."""

        name = "odd"
        guarantee = "ε-DP"
        how: str = option("diverge", help="how it fails")

        def fit(self, curator, problem, budget):
            query = problem.polynomial()
            share = 0.25 if self.how == "short" else 1
            epsilon = budget.epsilon / 2 if self.how == "unproven" else budget.epsilon
            noise = laplace(query.l1_bound("tight") * share, epsilon, query.proof("tight"))
            if self.how == "silent":
                return Fit.good(np.zeros((curator.runs, problem.geometry.dimension)))
            if self.how == "unproven":
                curator.unproven(query, lambda exact, generator: exact, Pure(0.1), "because")
            answer = curator.release(query, noise)
            made_up = (answer[:, 2] > 100) | (curator.n < 400)  # 500 made-up rows have a larger sum of squares
            if self.how == "always" or self.how == "raise" and not made_up.all() or self.how == "late" and curator.n[0] > 400:
                raise ValueError("the answer was {SECRET!r}")
            weights = np.zeros((curator.runs, problem.geometry.dimension))
            weights[(self.how == "nowhere") | (self.how == "diverge") & ~made_up] = np.nan
            grew = np.full(curator.runs, self.how == "grow")
            return Fit(weights, np.full(curator.runs, "ok"), {{"diverging": grew}})

    @hookimpl
    def dpbench_datasets():
        return [People]

    @hookimpl
    def dpbench_mechanisms():
        return [Odd]
'''


CONFIDING = '''
    from dataclasses import dataclass
    from typing import ClassVar

    import numpy as np

    from dpbench import Fit, KnownCovariance, Mechanism, Uncertainty, hookimpl, option
    from dpbench.contracts.uncertainty import Intervals
    from dpbench.privacy.noise import laplace
    from dpbench.privacy.queries.query import RowQuery

    SEEN = []

    @dataclass(frozen=True)
    class Sums(RowQuery):
        """Sums of targets, of which it remembers the last."""

        size: ClassVar[int] = 1
        name: ClassVar[str] = "sums"

        def contribution(self, rows, run):
            SEEN.append(0.7 + rows.y.sum() * 1e-9)
            return rows.y[:, None]

    class Confiding(Uncertainty):
        """Intervals around what was seen."""

        methods = ("delta",)

        def intervals(self, request):
            centre = np.full(request.weights.shape, SEEN[-1])
            return Intervals("delta", centre, centre * 0.1, centre - 0.2, centre + 0.2)

    @dataclass(frozen=True)
    class Remembering(Mechanism):
        """A sum, with intervals around what it has seen."""

        name = "remembering"
        guarantee = "ε-DP"
        how: str = option("own", help="what holds it")

        def fit(self, curator, problem, budget):
            curator.release(Sums(), laplace(2.0, budget.epsilon, "targets lie in [-1, 1]"))
            fit = Fit.good(np.zeros((curator.runs, problem.geometry.dimension)))
            if self.how == "own":
                return fit.knowing(Confiding())
            covariance = np.tile(np.eye(problem.geometry.dimension), (curator.runs, 1, 1))
            return fit.knowing(KnownCovariance(covariance, covariance, centre=fit.weights + (SEEN or [0.0])[-1]))

    @hookimpl
    def dpbench_mechanisms():
        return [Remembering]
'''


@dataclass
class Home:
    """A working folder, and the command in it."""

    folder: Path
    capture: pytest.CaptureFixture[str] = field(repr=False)

    def run(self, *arguments: str) -> tuple[int, str, str]:
        self.capture.readouterr()
        code = main(["release", *arguments])
        out, err = self.capture.readouterr()
        return code, out, err

    def refused(self, *arguments: str, code: int = 2) -> str:
        """One sentence, and no new file."""
        before = sorted(self.folder.iterdir())
        found, out, err = self.run(*arguments)
        assert (found, out) == (code, ""), err
        assert err.count("\n") == 1
        assert "Traceback" not in err
        assert sorted(self.folder.iterdir()) == before
        return err


@pytest.fixture
def home(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("DPBENCH_PLUGINS_DIR", raising=False)
    yield Home(folder, capsys)
    registry.cache_clear()
    register.cache_clear()


@pytest.fixture
def people(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """With a table of people and a mechanism that goes wrong."""
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "people.py").write_text(textwrap.dedent(PEOPLE))
    (plugins / "confiding.py").write_text(textwrap.dedent(CONFIDING))
    monkeypatch.setenv("DPBENCH_PLUGINS_DIR", str(plugins))
    registry.cache_clear()
    register.cache_clear()
    return home


def test_a_release_can_be_read_back_and_predicts_in_raw_units(home: Home) -> None:
    code, out, err = home.run(*WINE, "out=model.json")
    assert (code, err) == (0, "")
    assert "4,898 rows" in out
    assert "ε = 1." in out
    assert "Written: model.json\n" in out
    assert "python -m dpbench predict model.json new.csv" in out
    written = sorted(path.name for path in home.folder.iterdir())
    assert written == ["model.json", "model_card.md"], "no store, nothing recorded"
    assert "Model card: model_card.md\n" in out
    released = dpbench.load_release("model.json")
    assert list(released.weights)[:2] == ["intercept", "fixed_acidity"]
    assert len(released.weights) == 12
    assert released.statement in out
    middle = {column.name: (column.low + column.high) / 2 for column in released.columns}
    (central,) = released.predict(middle, clip=False)
    assert central == pytest.approx(3 + (released.weights["intercept"] + 1) * 3, abs=1e-3)
    upper = {**middle, "alcohol": released.columns[-1].high}
    assert released.predict(upper, clip=False)[0] - central == pytest.approx(3 * released.weights["alcohol"], abs=1e-3)


def test_a_frame_a_dict_and_single_rows_are_predicted_alike(home: Home) -> None:
    home.run(*WINE, "out=model.json")
    released = dpbench.load_release(Path("model.json"))
    generator = np.random.default_rng(0)
    frame = pandas.DataFrame({column.name: generator.uniform(column.low, column.high, 7) for column in released.columns})
    together = released.predict(frame)
    assert together.shape == (7,)
    np.testing.assert_array_equal(released.predict(frame.assign(quality=5, name="x")[["name", *frame.columns[::-1]]]), together)
    np.testing.assert_array_equal(released.predict({name: frame[name].tolist() for name in frame}), together)
    singly = [released.predict(frame.iloc[[index]])[0] for index in range(7)]
    np.testing.assert_allclose(singly, together, rtol=1e-12)  # products of other sizes may round otherwise
    assert released.predict(frame.iloc[:0]).shape == (0,)
    beyond = frame.assign(alcohol=1e6)
    np.testing.assert_array_equal(released.predict(beyond), released.predict(frame.assign(alcohol=14.2)))
    with pytest.raises(Refused, match="Missing: alcohol"):
        released.predict(frame.drop(columns="alcohol"))
    with pytest.raises(Refused, match="must hold numbers"):
        released.predict(frame.assign(alcohol="strong"))
    with pytest.raises(Refused, match="must have no missing values"):
        released.predict(frame.assign(alcohol=math.nan))


@pytest.mark.parametrize("mechanism", ["ssp", "fm"])
def test_predictions_of_wines_have_intervals(home: Home, mechanism: str) -> None:
    assert home.run(f"mechanism={mechanism}", "dataset=wine", "epsilon=3", "out=m.json", "inference.method=bootstrap")[0] == 0
    released = dpbench.load_release("m.json")
    middle = {column.name: [(column.low + column.high) / 2] * 2 for column in released.columns}
    prediction, low, high = released.predict(middle, interval=0.9).T
    np.testing.assert_array_equal(prediction, released.predict(middle))
    assert (released.target.low <= low).all()
    assert (low < high).all()
    assert (high <= released.target.high).all()
    assert isinstance(released.inference, ReleasedIntervals)
    assert released.inference.method == "bootstrap"


def test_a_mechanism_without_intervals_says_why(home: Home) -> None:
    code, out, _ = home.run("mechanism=ssp", "model=ridge", "model.penalty=1", *SMALL, "out=m.json")
    assert code == 0
    assert "No intervals: a penalty draws the weights towards 0" in out
    assert set(json.loads((home.folder / "m.json").read_text())["inference"]) == {"reason"}


@pytest.mark.parametrize("model", ["linear", "ridge"])
@pytest.mark.parametrize("scaling", ["box", "ball"])
def test_with_next_to_no_noise_predictions_are_the_fitted_ones(people: Home, model: str, scaling: str) -> None:
    options = (f"model={model}", *(["model.penalty=0"] if model == "ridge" else []), f"dataset.scaling={scaling}")
    code, _, err = people.run("mechanism=fm", "mechanism.ridge=0", "dataset=people", "epsilon=1e9", "out=m.json", *options)
    assert code == 0, err
    released = dpbench.load_release("m.json")
    towns = {"town_0": [0, 0, 1], "town_1": [1, 0, 0], "town_2": [0, 1, 0]}
    predicted = released.predict({"height": [100, 150, 200], **towns})
    np.testing.assert_allclose(predicted, [700, 750, 1000], atol=2.0)


def test_a_release_on_the_corner_predicts_as_it_was_fitted(home: Home) -> None:
    """From the lower bounds, where every scaled feature is 0, to the upper ones, where it is 1/√11."""
    corner = ("mechanism=fm", "dataset=wine", "dataset.scaling=corner", "epsilon=1e6", "out=corner.json")
    assert home.run(*corner)[0] == 2
    assert home.run(*corner, "model.intercept=false")[0] == 0
    released = dpbench.load_release("corner.json")
    assert released.scaling == "corner"
    low, high = ({column.name: getattr(column, end) for column in released.columns} for end in ("low", "high"))
    assert released.predict(low)[0] == pytest.approx(6.0, abs=1e-9), "the middle of the target's range"
    assert released.predict(high)[0] == pytest.approx(6 + 3 * sum(released.weights.values()) / 11**0.5, abs=2e-3)


def test_a_table_of_ones_own_is_released_with_intervals(home: Home) -> None:
    """Wage is 1,000 € plus 50 € for each year of age, and 300 € in the north, with errors of ±100 €."""
    generator = np.random.default_rng(0)
    age, north = generator.integers(20, 61, 20_000), generator.integers(2, size=20_000)
    wage = 1000 + 50 * age + 300 * north + generator.normal(scale=100, size=20_000)
    frame = pandas.DataFrame({"age": age, "town": np.where(north, "north", "south"), "wage": wage.round(2)})
    frame.to_csv(home.folder / "people.csv", index=False)
    (home.folder / "people.yaml").write_text(
        "target: wage\ncolumns:\n  age: {low: 20, high: 60, unit: year}\n  town: {levels: [north, south]}\n"
        "  wage: {low: 1000, high: 5000, unit: €}\n"
    )
    options = ("dataset=table", "dataset.path=people.csv", "dataset.bounds=people.yaml", "mechanism=ssp", "epsilon=3")
    code, out, err = home.run(*options, "model.intercept=false", "inference.level=0.99", "out=m.json")
    assert (code, err) == (0, "")
    assert "99 % intervals by the delta method" in out
    assert "€ per year" in out
    released = dpbench.load_release("m.json")
    assert len(released.privacy["ledger"]["entries"]) == 1
    age_row = released.intervals().own_units["age"]
    middle, reach = (age_row["high"] + age_row["low"]) / 2, (age_row["high"] - age_row["low"]) / 2
    assert abs(middle - 50) < 2.5 * reach  # 6.4 standard errors: secure noise has no seed, and 2.6 fail once in a hundred times
    assert reach < 10
    predicted = released.predict(frame, interval=0.95)
    inside = (predicted[:, 1] <= frame["wage"]) & (frame["wage"] <= predicted[:, 2])
    assert inside.mean() > 0.8
    assert "NaN" not in (home.folder / "m.json").read_text()


def test_running_it_twice_draws_different_noise(home: Home) -> None:
    for name in ("a.json", "b.json"):
        assert home.run("mechanism=fm", *SMALL, f"out={name}")[0] == 0
    first, second = (dpbench.load_release(name).weights for name in ("a.json", "b.json"))
    assert all(first[name] != second[name] for name in first)


def test_the_file_has_weights_public_facts_and_the_ledger_and_no_number_without_noise(people: Home) -> None:
    code, out, _ = people.run("mechanism=fm", "dataset=people", "epsilon=0.5", "out=model.json")
    assert code == 0
    content = json.loads((people.folder / "model.json").read_text())
    assert set(content) == {
        "format", "model", "mechanism", "dataset", "columns", "target", "kind", "scaling", "radius", "threshold", "intercept",
        "weights", "privacy", "statement", "made_by", "command", "formats", "inference", "weights_in_own_units",
    }  # fmt: skip
    privacy = content["privacy"]
    assert (privacy["epsilon"], privacy["delta"], privacy["neighbours"], privacy["rows"]) == (0.5, 0.0, "replace_one", 4000)
    vouched_by = privacy["vouched_by"]
    assert (vouched_by["audit"], vouched_by["passed"], vouched_by["numpy"]) == ("replay", True, np.__version__)
    assert vouched_by["n"] >= 8
    assert f"replayed on made-up neighbouring tables of up to {vouched_by['n']:,} rows" in content["statement"]
    (entry,) = privacy["ledger"]["entries"]
    assert entry["cost"] == {"kind": "pure", "epsilon": 0.5}
    assert "OpenDP" in entry["proof"]
    assert content["target"] | {"low": 400, "high": 1300, "unit": "€"} == content["target"]
    assert content["dataset"]["synthetic"] is False
    text = (people.folder / "model.json").read_text() + out
    assert "rmse" not in text
    assert repr(SECRET)[2:10] not in text
    assert "SYNTHETIC" not in text


def test_synthetic_rows_are_released_and_said_to_be_so(home: Home) -> None:
    code, out, _ = home.run("mechanism=fm", *SMALL, "out=model.json")
    assert code == 0
    assert out.startswith("THE ROWS ARE SYNTHETIC")
    assert dpbench.load_release("model.json").dataset["synthetic"] is True


def test_for_two_classes_a_release_says_which_mechanism_is_recommended_and_why(home: Home) -> None:
    for mechanism, model, said in (("best", "logistic", True), ("best", "linear", False), ("dp_newton", "logistic", False)):
        code, out, err = home.run(f"mechanism={mechanism}", f"model={model}", *SMALL, f"out={mechanism}_{model}.json")
        assert code == 0, err
        assert (TWO_CLASSES.sentence in " ".join(out.split())) == said
    code, out, err = home.run(f"mechanism={TWO_CLASSES.recommended}", "model=logistic", *SMALL, "out=m.json")
    assert code == 2
    assert "Not with secure noise" in err, "when it can be released, what is said of it changes"


def test_a_matched_budget_is_accounted_as_asked(home: Home) -> None:
    code, out, err = home.run("mechanism=cdp_irls", *SMALL, "budget=matched", "delta=1e-5", "out=model.json")
    assert code == 0, err
    privacy = dpbench.load_release("model.json").privacy
    assert privacy["epsilon"] == pytest.approx(1.0, rel=1e-9)
    assert privacy["delta"] == 1e-5
    assert "except with probability 1e-05" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("mechanism=fm", *SMALL, "out=m.json", "seed=3"), "takes no seed"),
        (("mechanism=fm", *SMALL, "out=m.json", "noise=simulation"), "noise must be 'secure'"),
        (("mechanism=no_privacy", *SMALL, "out=m.json"), "because it was not replayed: no_privacy claims no privacy"),
        (("mechanism=fm", *SMALL, "dataset.bounds=data", "out=m.json"), "the data leaks bounds_from_data"),
        (("mechanism=fm", *SMALL, "mechanism.until_bounded=true", "out=m.json"), "would show in the time it takes"),
        (
            ("mechanism=fm", *SMALL, "mechanism.until_bounded=true", "mechanism.max_tries=5", "out=m.json"),
            "because it was not replayed: fm claims no privacy",
        ),
        (("mechanism=cdp_irls", *SMALL, "mechanism.variant=published", "out=m.json"), "Not with secure noise"),
        (("mechanism=fm,dpba", *SMALL, "out=m.json"), "a release is one fit"),
        (("mechanism=fm", "dataset=gaussian", "epsilon=0", "out=m.json"), "The 'epsilon' option"),
        (("mechanism=fm", *SMALL, "dataset.sample_rate=0.5", "out=m.json"), "fitted on all rows"),
        (("mechanism=fm", *SMALL, "dataset.resample=true", "out=m.json"), "dataset.resample must be false. Got true instead"),
        (
            ("mechanism=ssp", *SMALL, "inference.method=iterates", "out=m.json"),
            "must be auto or none or delta or",
        ),
        (("mechanism=fm", *SMALL, "splits.repeats=2", "out=m.json"), "There is no key of release named 'splits.repeats'"),
        (("mechanism=fm", *SMALL, "out=m.json", "overwrite=5"), "must be true or false"),
        (("mechanism=fn", *SMALL, "out=m.json"), "There is no mechanism named 'fn'"),
        (("mechanism=fm", *SMALL), "needs a file to write"),
        (("mechanism=fm", *SMALL, "out=missing/m.json"), "does not exist"),
        (("mechanism=fm", *SMALL, "out=."), "is a folder"),
        (("dataset=wine", "epsilon=1", "out=m.json"), "must say its mechanism"),
        (("mechanism=fm", "epsilon=1", "out=m.json"), "must say its dataset"),
        (("mechanism=fm", "dataset=wine", "out=m.json"), "must say its epsilon"),
    ],
)
def test_what_cannot_be_released_is_refused_in_one_sentence(home: Home, arguments: tuple[str, ...], words: str) -> None:
    assert words in home.refused(*arguments)


def test_a_file_that_exists_is_kept_unless_it_is_a_release_and_that_is_asked_for(home: Home) -> None:
    path = home.folder / "model.json"
    path.write_text("mine")
    assert "exists already" in home.refused("mechanism=fm", *SMALL, "out=model.json")
    assert "no other file" in home.refused("mechanism=fm", *SMALL, "out=model.json", "overwrite=true")
    assert path.read_text() == "mine"
    path.unlink()
    assert home.run("mechanism=fm", *SMALL, "out=model.json")[0] == 0
    assert home.run("mechanism=fm", *SMALL, "out=model.json", "overwrite=true")[0] == 0
    assert dpbench.load_release(path).weights
    assert sorted(path.name for path in home.folder.iterdir()) == ["model.json", "model_card.md"]


def test_the_card_says_what_was_typed_without_the_folders_of_this_machine(home: Home) -> None:
    (home.folder / "people.csv").write_text("age,wage\n" + "30,1000\n40,2000\n" * 300)
    table = ("dataset=table", f"dataset.path={home.folder / 'people.csv'}", "dataset.target=wage")
    code, _, err = home.run("mechanism=fm", *table, "dataset.bounds={age:[18,70],wage:[0,3000]}", "epsilon=1", "out=wages.json")
    assert code == 0, err
    card = (home.folder / "wages_card.md").read_text(encoding="utf-8")
    assert "dataset.path=people.csv" in card
    assert "'dataset.bounds={age:[18,70],wage:[0,3000]}' epsilon=1 out=wages.json" in card
    for text in (card, (home.folder / "wages.json").read_text(encoding="utf-8")):
        assert str(home.folder) not in text


def test_an_export_that_fails_says_that_the_model_is_written(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpbench.releases.exports.model_card", lambda *_: (_ for _ in ()).throw(Refused("No card.")))
    code, out, err = home.run("mechanism=fm", *SMALL, "out=model.json")
    assert (code, "Written: model.json" in out) == (1, True)
    assert "No card. The model itself is written: `python -m dpbench export model.json …` tries again, and spends nothing." in err
    assert dpbench.load_release("model.json").weights


@pytest.mark.parametrize(
    ("how", "code", "words"),
    [
        ("diverge", 1, "ended as 'diverged', so there is no model to write. Its ε = 1 is spent nevertheless"),
        ("nowhere", 2, "none of its fits on 500 made-up rows of this geometry has finite weights. No row of the table was used"),
        ("late", 2, "a fit on 500 made-up rows of this geometry ends with ValueError. No row of the table was used"),
        ("raise", 1, "failed with ValueError. What it had released is spent: ε = 1."),
        ("unproven", 2, "without a proof"),
        ("always", 2, "was not replayed: On made-up tables the fit ends with ValueError."),
        ("short", 2, "a replay refuted its claim: The query 'objective' moved by 4 times its declared L1 sensitivity."),
        ("silent", 2, "no proof of a finite ε"),
    ],
)
def test_a_fit_that_goes_wrong_says_what_it_cost_and_quotes_no_row(people: Home, how: str, code: int, words: str) -> None:
    said = people.refused("mechanism=odd", f"mechanism.how={how}", *SMALL, "out=m.json", code=code)
    assert words in said
    assert repr(SECRET) not in said


def test_a_class_of_a_plugin_cannot_carry_what_its_query_saw_into_the_file(people: Home) -> None:
    assert people.run("mechanism=remembering", *SMALL, "out=m.json")[0] == 0
    content = json.loads((people.folder / "m.json").read_text(encoding="utf-8"))
    assert set(content["inference"]) == {"reason"}
    assert "this mechanism brings a class or values of its own" in content["inference"]["reason"]
    assert content["inference"]["reason"] in content["statement"]


def test_a_ready_made_class_that_was_not_filled_from_the_answers_is_refused(people: Home) -> None:
    said = people.refused("mechanism=remembering", "mechanism.how=known", *SMALL, "out=m.json")
    assert "depend on more than the answers" in said


def test_gradients_that_grew_are_said_by_the_release_its_card_and_the_records_of_a_sweep(people: Home) -> None:
    for how, said in (("grow", True), ("well", False)):
        code, out, err = people.run("mechanism=odd", f"mechanism.how={how}", *SMALL, f"out={how}.json")
        assert code == 0, err
        card = Path(f"{how}_card.md").read_text(encoding="utf-8")
        assert [" ".join(DIVERGING_TEXT.split()) in " ".join(text.split()) for text in (out, card)] == [said, said]
        options = {"mechanism.how": how, "dataset.n": 500, "dataset.d": 2, "splits.repeats": 2}
        swept = dpbench.sweep(options, mechanism="odd", dataset="gaussian", engine="serial", record=False)
        assert swept.full["health/diverging"].tolist() == [float(said)]


@pytest.mark.parametrize(("how", "words"), [("raise", "cannot be loaded: ValueError"), ("drop", "leaks rows_dropped")])
def test_data_that_cannot_be_trusted_is_refused_and_quotes_no_row(people: Home, how: str, words: str) -> None:
    said = people.refused("mechanism=fm", "dataset=people", f"dataset.how={how}", "epsilon=1", "out=m.json")
    assert words in said
    assert repr(SECRET) not in said


def test_without_opendp_it_is_refused_with_the_line_to_install_it(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secure, "find_spec", lambda name: None)
    assert "pip install 'dp-regression-bench[secure]' (opendp)" in home.refused("mechanism=fm", *SMALL, "out=m.json")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: "{", "not JSON"),
        (lambda text: "[]", "must be 'dpbench release 1'"),
        (lambda text: text.replace("dpbench release 1", "dpbench release 9"), "Got 'dpbench release 9' instead"),
        (lambda text: text.replace('"weights"', '"heights"'), "is incomplete"),
        (lambda text: text.replace('"target": {', '"target": "wage", "none": {', 1), "is incomplete or was changed"),
    ],
)
def test_another_file_is_not_taken_for_a_release(home: Home, change: Callable[[str], str], words: str) -> None:
    home.run("mechanism=fm", *SMALL, "out=m.json")
    path = home.folder / "m.json"
    path.write_text(change(path.read_text()))
    with pytest.raises(Refused, match=words):
        dpbench.load_release(path)
    with pytest.raises(Refused, match="cannot be read"):
        dpbench.load_release(home.folder / "none.json")


def test_the_help_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["release", "--help"]) == 0
    out: Any = capsys.readouterr().out
    assert "secure noise" in out
    assert "overwrite=true" in out


def test_a_categorical_attribute_is_given_as_in_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts, as in the file that the model was fitted on, or one column a level: the predictions are the same."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    town = rng.choice(["north", "south"], 400)
    people = pandas.DataFrame({"town": town, "age": rng.integers(20, 60, 400), "wage": 100 * (town == "north") + 50})
    people.to_csv("people.csv", index=False)
    bounds = "{age:[0,100],town:{levels:[north,south]},wage:[0,200]}"
    table = ("dataset=table", "dataset.path=people.csv", f"dataset.bounds={bounds}", "dataset.target=wage")
    assert main(["release", "mechanism=fm", *table, "epsilon=5", "out=model.json"]) == 0
    release = dpbench.load_release("model.json")
    texts = release.predict({"town": ["north", "south"], "age": [30, 40]})
    columns = release.predict({"town=north": [1, 0], "town=south": [0, 1], "age": [30, 40]})
    np.testing.assert_array_equal(texts, columns)
    with pytest.raises(Refused, match=r".town. of the data must hold one of its levels .north., .south.\. Row"):
        release.predict({"town": ["north", "east"], "age": [30, 40]})


def test_a_released_model_reads_the_table_that_it_was_fitted_on(home: Home) -> None:
    """As pandas reads it: truth values, codes as floats because some are missing, a code for a missing value, dates."""
    columns = [
        [("TRUE", "FALSE")[row % 2] for row in range(60)],
        [("1", "2", "")[row % 3] for row in range(60)],
        [str(-200 if row % 7 == 0 else row % 40) for row in range(60)],
        [f"{2000 + row % 20}-03-01" for row in range(60)],
        map(str, range(60)),
    ]
    rows = map(",".join, zip(*columns, strict=True))
    (home.folder / "own.csv").write_text("flag,code,hours,day,income\n" + "\n".join(rows) + "\n")
    (home.folder / "own.yaml").write_text(
        "target: income\nnulls: [-200]\ncolumns:\n  flag: {levels: [false, true]}\n  code: {levels: [1, 2], missing: 1}\n"
        "  hours: {low: 0, high: 40, missing: 20}\n  day: {part: year, low: 2000, high: 2019}\n  income: [0, 60]\n"
    )
    options = ("dataset=table", "dataset.path=own.csv", "dataset.bounds=own.yaml", "mechanism=fm", "epsilon=1", "out=m.json")
    code, _, err = home.run(*options)
    assert code == 0, err
    released, frame = dpbench.load_release("m.json"), pandas.read_csv(home.folder / "own.csv")
    predicted = released.predict(frame)
    plain = frame.assign(code=frame["code"].fillna(1).astype(int), hours=frame["hours"].replace(-200, 20))
    np.testing.assert_array_equal(released.predict(plain.assign(day=pandas.to_datetime(plain["day"]))), predicted)
    np.testing.assert_array_equal(released.predict(plain.astype(str)), predicted)
    assert len(set(predicted)) > 10
