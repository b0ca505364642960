"""An answer is said in plain words, with the command that follows."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from dpbench.choosing.choice import Estimate, choose_from
from dpbench.choosing.error_curves import Simulation, candidates
from dpbench.choosing.question import Question
from dpbench.choosing.wording import NO_ROW, next_step, release_command, sentences

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
