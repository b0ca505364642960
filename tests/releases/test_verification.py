"""A release is verified as it was written, and no longer when a number of its privacy section is changed."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from release_factory import make_release

from dpbench.accounting.composition import compose
from dpbench.accounting.costs import Approx, Cost, Gdp, Pure, Zcdp, cost_of
from dpbench.base.errors import Refused
from dpbench.privacy.ledger import Budget, Ledger, LedgerEntry
from dpbench.registry import code_digest
from dpbench.registry.code_digest import fit_digest
from dpbench.registry.lookup import registry
from dpbench.releases.fit_release import release
from dpbench.releases.release_file import Release, load_release
from dpbench.releases.released_intervals import NoIntervals
from dpbench.releases.selected_release import selected_release
from dpbench.releases.verification import verify
from dpbench.sweeps.hydra.composition import grid_points

Make = Callable[..., Release]


@pytest.fixture
def with_costs() -> Make:
    """Make a release whose ledger has these costs."""
    pytest.importorskip("dp_accounting")

    def released(*costs: Cost) -> Release:
        code = fit_digest([registry().get("mechanism", "fm"), registry().get("model", "linear")])
        delta = 0.0 if all(isinstance(cost, Pure) for cost in costs) else 1e-6
        entries = [LedgerEntry(f"query {at}", cost, True, "a proof") for at, cost in enumerate(costs)]
        ledger = Ledger(Budget(100.0, delta or 1e-6), entries)
        assert ledger.total == compose(costs, delta)
        epsilon = ledger.total.epsilon
        said = f"ε = {epsilon:.6g}" + (f" and δ = {delta:.3g}" if delta else "")
        privacy = {
            "epsilon": epsilon,
            "delta": delta,
            "neighbours": "replace_one",
            "rows": 4898,
            "noise": "secure",
            "accounting": "closed",
            "ledger": ledger.as_dict(),
            "vouched_by": {"audit": "replay", "passed": True, "n": 1000, "dpbench": "0.1.0", "numpy": "2", "code": code},
        }
        statement = f"This model was fitted once on 4,898 rows with differential privacy, {said}."
        return make_release(privacy=privacy, statement=statement, made_by="dpbench 0.1.0, a plugin, OpenDP 1")

    return released


def failed(released: Release) -> list[str]:
    return [check.what for check in verify(released) if not check.holds]


@pytest.mark.parametrize(
    "costs",
    [
        (Pure(0.5),),
        (Pure(0.3),) * 7,
        (Gdp(0.2),),
        (Gdp(0.2), Gdp(0.1), Pure(0.1)),
        (Zcdp(0.01), Zcdp(0.02), Pure(0.1)),
        (Approx(0.4, 1e-7), Gdp(0.1)),
    ],
    ids=str,
)
def test_what_a_ledger_adds_up_to_holds_by_both_accountants(with_costs: Make, tmp_path: Path, costs: tuple[Cost, ...]) -> None:
    with_costs(*costs).save(tmp_path / "m.json")
    assert failed(load_release(tmp_path / "m.json")) == []


@pytest.mark.parametrize(
    ("keys", "value", "what"),
    [
        (("privacy", "epsilon"), 0.19, {"dpbench's accounting", "dp-accounting", "statement"}),
        (("privacy", "delta"), 1e-5, {"dpbench's accounting", "statement"}),
        (("privacy", "ledger", "total", "epsilon"), 0.1, {"dpbench's accounting"}),
        (("privacy", "ledger", "entries", 0, "cost", "mu"), 0.4, {"dpbench's accounting", "dp-accounting"}),
        (("privacy", "ledger", "entries", 0, "sound"), False, {"ledger"}),
        (("privacy", "ledger", "entries"), [], {"ledger", "dpbench's accounting", "dp-accounting"}),
        (("privacy", "ledger", "leaks"), [{"what": "bounds_from_data", "why": "x"}], {"ledger"}),
        (("privacy", "ledger", "neighbours"), "replace_person", {"neighbours"}),
        (("privacy", "noise"), "simulation", {"noise"}),
        (("privacy", "rows"), 489, {"statement"}),
        (("privacy", "vouched_by", "passed"), False, {"audit"}),
        (("privacy", "vouched_by", "dpbench"), "0.0.9", {"versions"}),
        (("statement",), "ε = 0.01 is the price.", {"statement"}),
        (("made_by",), "", {"versions"}),
    ],
)
def test_a_changed_number_does_not_hold(with_costs: Make, tmp_path: Path, keys: tuple, value: Any, what: set[str]) -> None:
    with_costs(Gdp(0.2), Gdp(0.1)).save(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    place = content
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    (tmp_path / "m.json").write_text(json.dumps(content))
    assert set(failed(load_release(tmp_path / "m.json"))) == what


def test_an_edit_of_a_mechanism_that_an_option_names_is_other_code(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opendp")
    pytest.importorskip("dp_accounting")
    keys = ["mechanism=drop_sensitive", "mechanism.base=fm", "mechanism.sensitive=[alcohol]", "dataset=wine", "epsilon=1"]
    released = release(grid_points(keys)[0].config)
    assert failed(released) == []
    digest_of = code_digest._digest_of

    def edited(files: dict[str, str], more: bytes = b"") -> str:
        return digest_of(files, more) + "edited" * any(Path(file).name == "fm.py" for file in files.values())

    monkeypatch.setattr(code_digest, "_digest_of", edited)
    monkeypatch.setattr(code_digest, "_fit_digest", code_digest._fit_digest.__wrapped__)  # as in a new process
    assert failed(released) == ["code"]
    assert "other code" in verify(released)[-1].sentence


@pytest.fixture(scope="module")
def secure_release() -> Release:
    """A release as it is written."""
    pytest.importorskip("opendp")
    pytest.importorskip("dp_accounting")
    return release(grid_points(["mechanism=ssp", "dataset=wine", "epsilon=1"])[0].config)


def test_a_release_holds_as_it_was_written(secure_release: Release) -> None:
    assert failed(secure_release) == []


def test_an_answer_that_costs_less_than_its_noise_is_found(secure_release: Release) -> None:
    entries = copy.deepcopy(secure_release.privacy["ledger"]["entries"])
    entries[0]["cost"]["mu"] /= 2
    total = compose([cost_of(entry["cost"]) for entry in entries], secure_release.privacy["delta"]).epsilon
    ledger = {**secure_release.privacy["ledger"], "entries": entries}
    ledger["total"] = {**ledger["total"], "epsilon": total}
    statement = secure_release.statement.replace("ε = 1 ", f"ε = {total:.6g} ")
    changed = replace(secure_release, privacy={**secure_release.privacy, "epsilon": total, "ledger": ledger}, statement=statement)
    assert failed(changed) == ["prices"]
    assert "costs Gaussian DP" in next(check for check in verify(changed) if not check.holds).sentence


@pytest.mark.parametrize(
    ("cost", "holds"), [(Gdp(0.2), True), (Gdp(0.3), True), (Gdp(0.19), False), (Pure(0.2), False), (Zcdp(0.02), False)], ids=str
)
def test_the_price_of_normal_noise_is_its_bound_in_gdp(with_costs: Make, cost: Cost, holds: bool) -> None:
    released = with_costs(cost)
    released.privacy["ledger"]["entries"][0].update({"noise": "gaussian", "bound": 0.2, "scale": 8.0})
    assert ("prices" not in failed(released)) is holds


@pytest.mark.parametrize("edit", [{"bound": None}, {"bound": 0.01, "sensitivity": 20.0}])
def test_noise_without_a_bound_or_with_one_below_its_sensitivity_has_no_price(with_costs: Make, edit: dict[str, Any]) -> None:
    released = with_costs(Gdp(0.01))
    released.privacy["ledger"]["entries"][0].update({"noise": "gaussian", "bound": 0.2, "scale": 10.0, **edit})
    assert "prices" in failed(released)


def test_noise_of_an_unknown_law_has_no_price(with_costs: Make) -> None:
    released = with_costs(Pure(0.2))
    released.privacy["ledger"]["entries"][0].update({"noise": "student", "bound": 0.2, "scale": 8.0})
    assert "prices" in failed(released)


@pytest.mark.parametrize("name", ["fm", "sspp"], ids=["another", "unknown"])
def test_a_renamed_mechanism_is_found(secure_release: Release, name: str) -> None:
    assert failed(replace(secure_release, mechanism={**secure_release.mechanism, "name": name})) == ["code"]


def test_a_changed_digest_is_found(secure_release: Release) -> None:
    vouched_by = {**secure_release.privacy["vouched_by"], "code": "0123456789abcdef"}
    assert failed(replace(secure_release, privacy={**secure_release.privacy, "vouched_by": vouched_by})) == ["code"]


def test_code_of_another_version_is_not_compared(secure_release: Release) -> None:
    vouched_by = {**secure_release.privacy["vouched_by"], "code": "0123456789abcdef", "dpbench": "0.0.9"}
    privacy, made_by = {**secure_release.privacy, "vouched_by": vouched_by}, secure_release.made_by.partition(",")[2]
    older = replace(secure_release, privacy=privacy, made_by=f"dpbench 0.0.9,{made_by}")
    assert failed(older) == []
    assert "cannot be compared" in verify(older)[-1].sentence


@pytest.mark.parametrize(
    "more",
    ["It has ε = 0.1.", "It is private with epsilon of 0.1.", "Epsilon: 0.5", "δ = 1e-9 holds."],
)
def test_a_second_value_in_the_statement_is_found(secure_release: Release, more: str) -> None:
    changed = replace(secure_release, statement=f"{secure_release.statement} {more}")
    assert failed(changed) == ["statement"]
    sentence = next(check for check in verify(changed) if not check.holds).sentence
    assert sentence.startswith("also says ")


def test_a_reason_for_no_intervals_may_quote_another_epsilon(secure_release: Release) -> None:
    why = "No intervals: at ε = 3.2 they cover .42."
    said = replace(secure_release, inference=NoIntervals(why), statement=f"{secure_release.statement} {why}")
    assert failed(said) == []


def test_a_choice_says_once_what_the_chosen_fit_could_spend(secure_release: Release) -> None:
    pytest.importorskip("opendp")
    keys = ["dataset=wine", "epsilon=1", "budget=matched"]
    chosen = selected_release([grid_points([f"mechanism={name}", *keys])[0].config for name in ("ssp", "best")])
    assert failed(chosen) == []
    selection = chosen.privacy["selection"]
    share = selection["candidates"][selection["chosen"]]["fit_epsilon"]
    assert failed(replace(chosen, statement=f"{chosen.statement} It has ε = {share:.3g}.")) == ["statement"]
    candidates = [{**each, "mechanism": {**each["mechanism"], "name": "dpba"}} for each in selection["candidates"]]
    renamed = {**selection, "candidates": candidates}
    assert {"code"} <= set(failed(replace(chosen, privacy={**chosen.privacy, "selection": renamed})))


def test_a_section_that_cannot_be_read_is_refused(with_costs: Make) -> None:
    released = with_costs(Pure(1.0))
    del released.privacy["vouched_by"]["audit"]  # type: ignore[attr-defined]
    with pytest.raises(Refused, match="incomplete"):
        verify(released)
    changed = with_costs(Gdp(0.2))
    changed.privacy["delta"] = 5.0  # type: ignore[index]
    with pytest.raises(Refused, match="was changed: ValueError"):
        verify(changed)
    for content, words in (({"kind": "gold"}, "must be one of"), ({"kind": "pure", "epsilon": -1}, "not negative")):
        with pytest.raises(Refused, match=words):
            cost_of(content)
