"""Releases as scikit-learn estimators: one fit on all rows with secure noise, with a ledger and a statement."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from dpbench.base.errors import PackageMissing, Refused
from dpbench.data.geometry import TargetKind
from dpbench.files.data_frames import remove_frames, store_frame
from dpbench.privacy.ledger import Budget
from dpbench.records.leaks import BOUNDS_FROM_DATA
from dpbench.registry.lookup import build
from dpbench.releases.budget_book import BudgetBook, Payer, Reservation
from dpbench.releases.declared_columns import DeclaredColumns, declared_columns
from dpbench.releases.feature_frames import feature_frame, has_other_cells, refuse_texts
from dpbench.releases.fit_release import release
from dpbench.releases.fitted_rows import FITTED_ROWS, row_hashes
from dpbench.releases.own_units import linear_equation
from dpbench.releases.released_intervals import NoIntervals

INSTALL = "pip install 'dp-regression-bench[sklearn]' (scikit-learn 1.6 or newer)"

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils import check_random_state, column_or_1d
    from sklearn.utils.multiclass import check_classification_targets, type_of_target
    from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data
except ImportError:
    raise PackageMissing(
        f"PrivateRegressor and PrivateClassifier need scikit-learn, which is not installed: {INSTALL}."
    ) from None

if TYPE_CHECKING:
    import pandas

MAX_SEED = 2**31 - 1


class RefusedValue(Refused, ValueError):
    """A refusal where scikit-learn expects a ValueError."""


@contextmanager
def _value_errors() -> Iterator[None]:
    try:
        yield
    except Refused as refusal:
        raise RefusedValue(str(refusal)) from None


class _PrivateEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """What both estimators share: from X, y and bounds to a table, and from there along the path of ``release``."""

    _target: TargetKind

    def __init__(
        self,
        mechanism: str | Mapping[str, Any] = "best",
        model: str | Mapping[str, Any] = "linear",
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Any = None,
        target_bounds: Any = None,
        budget: Budget | None = None,
        noise: Literal["secure", "simulation"] = "secure",
        random_state: Any = None,
        charge_to: str | None = None,
    ) -> None:
        self.mechanism = mechanism
        self.model = model
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.budget = budget
        self.charge_to = charge_to
        self.noise = noise
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit all rows once. With secure noise, every fit draws other noise and costs again."""
        draft = copy(self)  # holds the attributes that validation sets until the release has succeeded
        with _value_errors():
            frame, target = draft._training_rows(X, y)
            declared = declared_columns(self.bounds, self.target_bounds, list(frame.columns), getattr(y, "name", None))
            values, target_declaration = draft._encoded(target, declared)
            self._release(draft, frame, values, declared, target_declaration)
        return self

    def _release(self, draft: Self, frame: pandas.DataFrame, values: np.ndarray, declared: DeclaredColumns, target: Any) -> None:
        """Fit a table of features and target, and keep what was released and the attributes of the draft."""
        hashes = row_hashes(frame)
        config = self._config()
        if self.noise == "secure":
            FITTED_ROWS.paid(hashes, self.budget)  # before the mechanism is replayed, which takes seconds
        if declared.bounds == "data":
            warnings.warn(f"LEAK: {BOUNDS_FROM_DATA.why}.", UserWarning, stacklevel=4)
        bounds = "data" if declared.bounds == "data" else {**declared.bounds, declared.target: target}
        threshold = {"threshold": 0.5} if self._target == "binary" else {}
        try:
            path = store_frame(frame.assign(**{declared.target: values}))
            dataset = {"name": "table", "path": path, "bounds": bounds, "target": declared.target, **threshold}
            pay = partial(FITTED_ROWS.pay, hashes, self.budget)
            reservation = self._reservation(config["mechanism"]["name"])
            reserve = {} if reservation is None else {"reserve": reservation}
            made = release({**config, "dataset": dataset}, self.noise, check_costs=pay, **reserve)
        finally:
            remove_frames()
        self.__dict__ = draft.__dict__
        self.release_ = made
        self.statement_ = self.release_.statement
        self.ledger_ = self.release_.privacy["ledger"]
        self.intervals_ = self._interval_frame()
        equation = linear_equation(self.release_)
        self.coef_, self.intercept_, self.coef_names_ = equation.coefficients, equation.intercept, equation.names
        if reservation is not None:
            reservation.written()

    def _reservation(self, mechanism: str) -> Reservation | None:
        """Return the place in the budget book of a fit that a table pays for; simulated noise costs nothing."""
        if self.charge_to is None or self.noise != "secure":
            return None
        payer = Payer.of(build("dataset", {"name": "table", "path": str(self.charge_to)}))
        return Reservation(BudgetBook(), mechanism, type(self).__name__, payer)

    def _config(self) -> dict[str, Any]:
        """Return the configuration of the release, without its table."""
        model = _component(self.model)
        kind = build("model", model).target
        if kind != self._target:
            raise Refused(
                f"{type(self).__name__} needs a model of a {self._target} target. The target of {model['name']} is {kind}."
            )
        if self.noise not in ("secure", "simulation"):
            raise Refused(f"The noise of an estimator must be 'secure' or 'simulation'. Got {self.noise!r} instead.")
        if self.budget is not None and not isinstance(self.budget, Budget):
            raise Refused(
                "The budget of an estimator must be a dpbench.Budget, such as dpbench.Budget(epsilon=3). Got another type."
            )
        if self.noise == "secure" and self.random_state is not None:
            raise Refused("Secure noise has no seed: leave out random_state, or set noise='simulation' for an experiment.")
        if self.noise == "secure" and isinstance(self.bounds, str) and self.bounds == "data":
            raise Refused(
                "bounds='data' reads the bounds from the private rows, which no ε pays for: it needs noise='simulation'."
            )
        keys = {"epsilon": self.epsilon, "delta": self.delta, "budget": "matched", "accounting": "closed", "sensitivity": "tight"}
        return {"mechanism": _component(self.mechanism), "model": model, **keys, "seed": self._seed(), "inference": {}}

    def _seed(self) -> int:
        if self.random_state is None:
            return secrets.randbelow(MAX_SEED)
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(MAX_SEED))

    def _training_rows(self, X: Any, y: Any) -> tuple[pandas.DataFrame, np.ndarray]:
        """Return the features as a DataFrame, and the target. Cells of declared columns are read and checked as in a file."""
        if not self._has_other_cells(X):
            refuse_texts(X, *([y] if self._target == "real" else []))
            X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2, y_numeric=self._target == "real")
            return self._frame(X), y
        validate_data(self, X, skip_check_array=True)
        target = column_or_1d(y, warn=True)
        check_consistent_length(X, target)
        return self._frame(X), target

    def _features(self, X: Any) -> pandas.DataFrame:
        check_is_fitted(self)
        if self._has_other_cells(X):
            validate_data(self, X, reset=False, skip_check_array=True)
            return self._frame(X)
        with _value_errors():
            refuse_texts(X)
        return self._frame(validate_data(self, X, reset=False, dtype=np.float64))

    def _has_other_cells(self, X: Any) -> bool:
        return has_other_cells(X, isinstance(self.bounds, Mapping))

    def _frame(self, X: Any) -> pandas.DataFrame:
        return feature_frame(X, getattr(self, "feature_names_in_", None))

    def _interval_frame(self) -> pandas.DataFrame | None:
        import pandas

        if isinstance(self.release_.inference, NoIntervals):
            return None
        table = self.release_.intervals()
        rows = {
            name: {**table.own_units.get(name, row), "scaled": name not in table.own_units} for name, row in table.scaled.items()
        }
        return pandas.DataFrame.from_dict(rows, orient="index")

    def _predicted(self, X: Any) -> np.ndarray:
        features = self._features(X)
        with _value_errors():
            return self.release_.predict(features)

    def _encoded(self, y: np.ndarray, declared: DeclaredColumns) -> tuple[np.ndarray, Any]:
        """Return the target as numbers, and its declaration."""
        raise NotImplementedError


class PrivateRegressor(RegressorMixin, _PrivateEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A differentially private linear regression of a real target.

    ``mechanism`` and ``model`` are names, or mappings with options such as ``{"name": "ridge", "penalty": 2}``. ``bounds`` are
    public: ``{"age": (18, 70), …, "wage": (0, 3000)}`` with the target, or arrays ``(low, high)`` with ``target_bounds``;
    ``"data"`` reads them from the rows, which leaks. Values outside are clipped. The accounted (ε, δ) is at most the requested
    one.

    Noise is ``"secure"``, from the operating system; ``"simulation"`` takes it from ``random_state``, protects nothing, and is
    for experiments. A second fit on the same rows in one process is refused unless ``budget`` says what all fits may cost
    together. ``charge_to="people.csv"`` enters each fit in the budget book of the table in this file.

    After the fit: ``statement_`` (what is promised), ``ledger_`` (each private answer and its cost), ``release_`` (its ``save``
    writes the file that ``dpbench.load_release`` reads), ``coef_`` and ``intercept_``, the weights of predictions in the columns'
    own units, by ``coef_names_`` (a column with levels has one for each), and ``intervals_``: estimates, not always the weights,
    with standard errors and intervals, or None. There the intercept is where numeric columns are in the middle of their bounds.
    """

    _target = "real"

    def predict(self, X: Any) -> np.ndarray:
        """Return the predictions in the target's own unit, clipped to its bounds."""
        return self._predicted(X)

    def _encoded(self, y: np.ndarray, declared: DeclaredColumns) -> tuple[np.ndarray, Any]:
        return np.asarray(y), declared.target_bounds

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # of noise on a few rows
        return tags


class PrivateClassifier(ClassifierMixin, _PrivateEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A differentially private logistic regression of two classes.

    The classes are public, too: ``bounds={"age": (18, 70), …, "hired": {"levels": ["no", "yes"]}}`` or
    ``target_bounds=("no", "yes")``. ``coef_`` and ``intercept_`` are on the log odds of ``classes_[1]``. All else is as for
    :class:`PrivateRegressor`, but not the default: for two classes ``best`` is not recommended yet (README.md says why).
    """

    _target = "binary"

    def __init__(
        self,
        mechanism: str | Mapping[str, Any] = "dp_newton",
        model: str | Mapping[str, Any] = "logistic",
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Any = None,
        target_bounds: Any = None,
        budget: Budget | None = None,
        noise: Literal["secure", "simulation"] = "secure",
        random_state: Any = None,
        charge_to: str | None = None,
    ) -> None:
        super().__init__(mechanism, model, epsilon, delta, bounds, target_bounds, budget, noise, random_state, charge_to)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of ``classes_``, one column for each."""
        second = self._predicted(X)
        return np.column_stack([1 - second, second])

    def predict(self, X: Any) -> np.ndarray:
        """Return the more probable class of each row."""
        likely = self.predict_proba(X)[:, 1] > 0.5
        return np.asarray(self.classes_[likely.astype(int)])

    def _encoded(self, y: np.ndarray, declared: DeclaredColumns) -> tuple[np.ndarray, Any]:
        check_classification_targets(y)
        if type_of_target(y) != "binary":
            raise Refused("Only binary classification is supported: the target must have two classes. Got more.")
        self.classes_ = np.unique(y if declared.target_bounds is None else np.asarray(declared.target_bounds))
        if len(self.classes_) != 2 or not np.isin(y, self.classes_).all():
            raise Refused(
                "The target must be one of two classes, all of them declared. Got another number of classes, or others."
            )
        return (y == self.classes_[1]).astype(float), [0.0, 1.0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags


def _component(choice: str | Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(choice, (str, Mapping)):
        raise Refused("A mechanism or a model is a name, or a mapping such as {'name': 'fm', 'ridge': 4}. Got something else.")
    return {"name": choice} if isinstance(choice, str) else dict(choice)
