"""The section of a release's file that has its intervals, made from one fit."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.cells.intervals import made_intervals
from dpbench.contracts.fit import Fit
from dpbench.contracts.uncertainty import IntervalRequest, Intervals, Uncertainty
from dpbench.data.geometry import Geometry
from dpbench.inference.iterates import Iterates
from dpbench.inference.known_covariance import KnownCovariance
from dpbench.inference.released_moments import ReleasedMoments
from dpbench.inference.settings import InferenceSettings
from dpbench.inference.wording import absent
from dpbench.privacy.noise import Laplace, Law
from dpbench.privacy.queries.noisy_moments import NoisyMoments
from dpbench.releases.interval_making import NOT_CENTRED, OWN_CLASS, UNBOUNDED, check_method, make_section, sentence_of_statement
from dpbench.releases.released_intervals import NoIntervals, ReleasedIntervals

GEOMETRY = Geometry(("a",), (), True, "box", "real")
COVARIANCE = np.array([[[0.04, 0.01], [0.01, 0.09]]])


SEEN: list[np.ndarray] = []
"""What a plugin's query has seen of the rows."""


class Confiding(Uncertainty):
    """Centres intervals on what its plugin has seen: its own state is empty, and so equal in every replay."""

    methods: ClassVar = ("delta",)

    def intervals(self, request: IntervalRequest) -> Intervals | str:
        return Intervals("delta", SEEN[0], SEEN[0], SEEN[0], SEEN[0])


class ConfidingCovariance(KnownCovariance):
    """A subclass of a ready-made class that does the same."""

    def intervals(self, request: IntervalRequest) -> Intervals | str:
        return replace(super().intervals(request), centre=SEEN[0])


class ConfidingArray(np.ndarray):
    """An array that is another one when it is used."""

    def __array_ufunc__(self, *_: Any, **__: Any) -> Any:
        return SEEN[0]


class ConfidingLaw(Laplace):
    """A law whose variance is what was seen, squared."""

    name = "confiding"

    def variance(self, scale: np.ndarray) -> np.ndarray:
        return np.square(SEEN[0])


def moments_with(law: Law) -> ReleasedMoments:
    ones = np.ones((1, 2))
    return ReleasedMoments(NoisyMoments(100 * np.eye(2)[None], ones, None, law, np.ones((1, 2, 2)), ones))


def section_of(uncertainty: Any, geometry: Geometry = GEOMETRY, **settings: Any) -> ReleasedIntervals | NoIntervals:
    fit = Fit.good(np.array([[0.5, -1.0]])).knowing(uncertainty)
    return make_section(fit, InferenceSettings(**settings), geometry, 100)


def test_a_section_has_the_numbers_and_says_what_they_cover() -> None:
    made = section_of(KnownCovariance(COVARIANCE, COVARIANCE, remarks=("A remark.",)), level=0.9)
    assert isinstance(made, ReleasedIntervals)
    assert (made.method, made.covers, made.level, made.degrees_of_freedom) == ("covariance", "population", 0.9, 98)
    assert made.coefficients["a"]["estimate"] == -1.0
    assert made.coefficients["a"]["standard_error"] == pytest.approx(np.sqrt(0.18))
    assert made.coefficients["a"]["low"] < -1.0 < made.coefficients["a"]["high"]
    assert made.centred_on_weights
    assert "90 % intervals" in made.sentence
    assert "about the coefficients of the population" in made.sentence
    assert made.sentence.endswith("A remark.")
    assert "cost nothing" in sentence_of_statement(made)


def test_a_section_says_if_it_is_not_centred_on_the_weights() -> None:
    made = section_of(KnownCovariance(COVARIANCE, COVARIANCE, centre=np.array([[0.5, -0.8]])))
    assert isinstance(made, ReleasedIntervals)
    assert not made.centred_on_weights
    assert made.sentence.endswith(NOT_CENTRED)


def test_an_infinite_interval_is_none_in_the_file_and_named_in_the_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    class HalfKnown(Uncertainty):
        methods: ClassVar = ("iterates",)

        def intervals(self, request: IntervalRequest) -> Intervals | str:
            ends = np.array([[0.3, -np.inf]]), np.array([[0.7, np.inf]])
            return Intervals("iterates", request.weights, np.array([[0.1, np.inf]]), *ends)

    monkeypatch.setattr("dpbench.releases.interval_making.is_ready_made", lambda _: True)
    made = section_of(HalfKnown())
    assert isinstance(made, ReleasedIntervals)
    assert made.coefficients["a"] == {"estimate": -1.0, "standard_error": None, "low": None, "high": None}
    assert made.coefficients["intercept"]["high"] == 0.7
    assert made.rows["a"] == {"estimate": -1.0, "standard_error": np.inf, "low": -np.inf, "high": np.inf}
    assert f"{UNBOUNDED} a." in made.sentence


def test_where_the_population_has_no_intervals_those_of_the_table_are_made() -> None:
    made = section_of(KnownCovariance(COVARIANCE))
    assert isinstance(made, ReleasedIntervals)
    assert made.covers == "table"
    assert made.sentence.startswith("The coefficients of the population have no intervals: its release tells")
    assert "about the non-private fit to the same rows" in made.sentence


def test_rows_of_persons_have_intervals_of_the_table_alone() -> None:
    persons = Geometry(("a",), (), True, "box", "real", rows_per_person=3)
    made = section_of(KnownCovariance(COVARIANCE, COVARIANCE), persons)
    assert isinstance(made, ReleasedIntervals)
    assert made.covers == "table"
    assert "rows of one person resemble each other" in made.sentence


@pytest.mark.parametrize(
    ("uncertainty", "settings", "words"),
    [
        ("a penalty is in the way", {}, "a penalty is in the way"),
        (KnownCovariance(COVARIANCE), {"method": "none"}, "none were asked for"),
        (KnownCovariance(COVARIANCE), {"method": "bootstrap"}, "must be covariance for this mechanism"),
        (KnownCovariance(None), {"covers": "table"}, "its weights have no noise"),
        (KnownCovariance(*np.ones((2, 1, 3, 3))), {}, "making them failed with ValueError"),
        (KnownCovariance(COVARIANCE * np.nan, COVARIANCE), {}, "not finite"),
        (KnownCovariance(COVARIANCE * np.inf, COVARIANCE), {}, "not finite"),
    ],
)
def test_without_intervals_a_section_has_the_reason_and_no_number(uncertainty: Any, settings: dict, words: str) -> None:
    made = section_of(uncertainty, **settings)
    assert isinstance(made, NoIntervals)
    assert made.reason.startswith("No intervals: ")
    assert words in made.reason
    assert sentence_of_statement(made) == made.reason


def test_a_class_or_a_value_of_a_plugin_cannot_put_what_it_saw_into_a_release(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = np.array([[0.731852, -0.9182]])
    monkeypatch.setattr(sys.modules[__name__], "SEEN", [exact])
    for uncertainty in (
        Confiding(),
        ConfidingCovariance(COVARIANCE, COVARIANCE),
        KnownCovariance(COVARIANCE, COVARIANCE, centre=np.zeros((1, 2)).view(ConfidingArray)),
        moments_with(ConfidingLaw()),
    ):
        made = section_of(uncertainty)
        assert made == NoIntervals(absent(OWN_CLASS)), type(uncertainty)
        fit = Fit.good(np.zeros((1, 2))).knowing(uncertainty)
        with pytest.raises(Refused, match=r"inference\.method must be auto or none for this mechanism"):
            check_method(fit, InferenceSettings(method=uncertainty.methods[0]))
        assert isinstance(made_intervals(fit, InferenceSettings(), np.array([100.0]), True, np.random.default_rng), Intervals), (
            "a sweep takes it"
        )


def test_the_ready_made_classes_with_plain_numbers_are_taken() -> None:
    steps = np.zeros((1, 3, 2))
    iterates = Iterates(steps, steps, np.ones((1, 3)), np.ones(1))
    for uncertainty in (KnownCovariance(COVARIANCE, COVARIANCE, remarks=("Why.",)), moments_with(Laplace()), iterates):
        assert isinstance(section_of(uncertainty), ReleasedIntervals), type(uncertainty)


@pytest.mark.parametrize("uncertainty", [KnownCovariance(COVARIANCE), "a reason"])
def test_a_method_that_the_mechanism_lacks_is_refused(uncertainty: Any) -> None:
    fit = Fit.good(np.array([[0.5, -1.0]])).knowing(uncertainty)
    for fine in ("auto", "none", *getattr(uncertainty, "methods", ())):
        check_method(fit, InferenceSettings(method=fine))
    with pytest.raises(Refused, match=r"inference\.method must be auto or none.* Got 'bootstrap'"):
        check_method(fit, InferenceSettings(method="bootstrap"))
