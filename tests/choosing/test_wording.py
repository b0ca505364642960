"""An answer is said in plain words, with the command that follows."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from dpbench.choosing.choice import Estimate, choose_from
from dpbench.choosing.error_curves import Simulation, candidates
from dpbench.choosing.public_facts import PublicFacts
from dpbench.choosing.question import Question
from dpbench.choosing.wording import FAILED_HEADER, NO_ROW, answer, grounds, next_step, release_command, sentences, table
from dpbench.report.leaderboard.wording import TWO_CLASSES

FILES = {"path": "my people.csv", "bounds": "people.yaml"}


def lines(simulation: Simulation, question: Question) -> str:
    return "\n".join(sentences(choose_from(simulation, question, candidates(["ssp"])), FILES))


@pytest.mark.slow
def test_every_kind_of_question_has_an_answer_in_words(simulation: Simulation) -> None:
    asked = {
        Question(3_000, error=0.1): "Typical: ε = ",
        Question(epsilon=1, error=0.1): "rows are enough. Safe: ",
        Question(3_000, 1): "of what is explained is lost to privacy",
        Question(3_000, risk=0.6): "no attack guesses right in more than 60 %",
        Question(3_000, rmse=0.01): "No ε up to 100 is enough",
        Question(3, error=0.01): "rows would be enough",
        Question(300, error=0.05): "promises little",
        Question(epsilon=1, rmse=0.01): "Without privacy, too, the error is larger there.",
    }
    for question, words in asked.items():
        text = lines(simulation, question)
        assert words in text, text
        assert NO_ROW in text
        assert ("python -m dpbench release" in text) != ("Nothing is worth releasing" in text)
        assert "nan" not in text
        assert "e+0" not in text
        assert "inf" not in text.replace("information", "")


@pytest.mark.slow
def test_where_no_number_of_rows_is_enough_nothing_is_released(simulation: Simulation) -> None:
    text = lines(simulation, Question(epsilon=1, rmse=0.01))
    assert "No number of rows is enough" in text
    assert text.endswith("Nothing is worth releasing.")


def test_where_no_epsilon_is_safe_the_command_says_that_it_has_the_typical_one(simulation: Simulation) -> None:
    choice = choose_from(simulation, Question(3_000, error=0.1), candidates(["ssp"])[:1])
    unsafe = replace(choice.best, epsilon=Estimate(2.0, math.inf))
    heading, command = next_step(replace(choice, ratings=(unsafe,)), FILES)
    assert heading == "Release, once, with the typical ε, because none is safe:"
    assert " epsilon=2 " in command


def test_the_command_releases_what_was_chosen(simulation: Simulation) -> None:
    choice = choose_from(simulation, Question(3_000, error=0.1, delta=1e-5), candidates(["ssp"])[1:])
    command = release_command(choice, 0.5, FILES)
    assert command == (
        "python -m dpbench release mechanism=ssp model=linear dataset=table mechanism.noise=laplace 'dataset.path=my people.csv' "
        "dataset.bounds=people.yaml dataset.target=wage epsilon=0.5 delta=1e-05 out=model.json"
    )


def test_fits_that_lose_everything_are_said_and_have_a_column_where_there_are_any(simulation: Simulation) -> None:
    choice = choose_from(simulation, Question(3_000, error=0.1), candidates(["ssp"]))
    calm, other = (replace(rating, failed=Estimate(0.0, 0.0), fails_too_often=False) for rating in choice.ratings)
    assert FAILED_HEADER not in " ".join(table(replace(choice, ratings=(calm, other)))[0])
    failing = replace(calm, failed=Estimate(0.031, 0.0004))
    choice = replace(choice, ratings=(failing, other))
    header, first, _ = table(choice)
    assert (header[-2:], first[-2:]) == ([f"{FAILED_HEADER}, typical", f"{FAILED_HEADER}, safe"], ["3.1 %", "<0.1 %"])
    said = "\n".join(answer(choice))
    assert "Of the simulated fits, 3.1 % with the typical number and <0.1 % with the safe number lose everything" in said
    unsafe = replace(failing, epsilon=Estimate(0.5, math.inf), rows=Estimate(900.0, math.inf), fails_too_often=True)
    said = "\n".join(answer(replace(choice, ratings=(unsafe,))))
    assert "Nothing is safe: more than 1 % of the simulated fits lose everything." in said
    assert "with the safe number" not in said


def test_what_loses_everything_is_not_worth_releasing(simulation: Simulation) -> None:
    choice = choose_from(simulation, Question(3_000, 1.0), candidates(["ssp"])[:1])
    lost = replace(choice.best, share_lost=Estimate(1.0, math.inf), failed=Estimate(0.6, 0.6), fails_too_often=True)
    text = "\n".join(sentences(replace(choice, ratings=(lost,)), FILES))
    assert "Typical: all of what is explained is lost to privacy. Safe: more than all." in text
    assert "60 % of the simulated fits lose everything." in text
    assert text.endswith("Nothing is worth releasing with these rows.")


def test_for_two_classes_it_is_said_why_a_mechanism_is_recommended(simulation: Simulation, classes: PublicFacts) -> None:
    choice = choose_from(simulation, Question(3_000, error=0.1), candidates(["ssp"]))
    assert TWO_CLASSES.sentence not in "\n".join(grounds(choice))
    assert TWO_CLASSES.sentence in "\n".join(grounds(replace(choice, facts=classes)))


def test_no_command_is_named_that_would_be_refused(simulation: Simulation) -> None:
    choice = choose_from(simulation, Question(3_000, error=0.1), candidates(["objective_perturbation"]))
    assert "release mechanism=" not in "\n".join(sentences(choice, FILES))
    assert "has no secure noise for objective_perturbation" in "\n".join(next_step(choice, FILES))
    assert table(choice)[1][0] == "objective_perturbation [cannot be released]"
