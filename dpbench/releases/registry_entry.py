"""An entry for the Differential Privacy Deployments Registry, which OpenDP maintains: a YAML file that its owner completes.

The ledger and the declarations answer most questions of the registry. What only a human knows begins with :data:`OPEN`.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from dpbench.base.errors import Refused
from dpbench.releases.model_card import attribute_lines
from dpbench.releases.release_file import Release
from dpbench.releases.selection_sentences import cost_sentence

FILE_NAME = re.compile(r"[a-z0-9_]+\.yaml")
"""How the registry wants its files to be called."""
OPEN = "TO FILL IN: "
"""What a text begins with where a human has to answer."""
LEFT_OUT = ("deployment.basic.data_product_sector",)
"""What the registry takes from a list that only a human can choose from: left out until then."""


def check_file_name(name: str) -> None:
    """Refuse a name that the registry does not accept."""
    if not FILE_NAME.fullmatch(name):
        raise Refused(
            "The registry wants small letters, digits and _ in the names of its files, and .yaml at their end. "
            f"Got {name!r} instead."
        )


def registry_entry(release: Release, slug: str, today: date) -> dict[str, Any]:
    """Return the entry of a release that is published today, with ``slug`` as the end of its address in the registry."""
    privacy, synthetic = release.privacy, release.dataset["synthetic"]
    delta = privacy["delta"]
    basic: dict[str, Any] = {
        "name": f"Differentially private {release.model['name']} model of {release.target.name}",
        "data_curators": [f"{OPEN}who publishes the model"],
        "intended_use": f"{OPEN}what the model is for",
        "data_product_type": "Machine learning model",
        "data_product_region": f"{OPEN}the region that the rows describe, or whose laws apply",
        "description": _description(release),
        "publication_date": today.isoformat(),
    }
    deployment = {
        "basic": basic,
        "dp_variant": {
            "variant_name": "Approximate DP" if delta else "Pure DP",
            "data_domain": _lines(
                "All tables with these columns; values outside the bounds are clipped:", attribute_lines(release)
            ),
            "unprotected_quantities": _unprotected(release),
        },
        "privacy_loss": {
            **_unit(release),
            "privacy_parameters": {"epsilon": float(f"{privacy['epsilon']:.6g}"), **({"delta": delta} if delta else {})},
            "privacy_parameters_details": _lines("Each private answer of the fit, in its own currency:", _answers(release)),
        },
        "deployment_model": {
            "model_name": "Central",
            "actors": f"{OPEN}who sees the rows, who gets the model, and whom the persons in the table have to trust",
            "release_type": "One release",
            "release_type_details": f"{OPEN}whether the same rows will be used again, and up to which total ε",
            "data_source_type": "Static",
            "access_type": "Non-interactive",
        },
        "accounting": {"post_processing": _post_processing(release), "composition": _composition(release)},
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": f"Values are clipped to the declared bounds, scaled "
            f"({release.scaling}), and truncated to multiples of 2^-16. {OPEN}how the bounds, the mechanism, its options and ε "
            "were chosen",
            "mechanisms": _mechanisms(release),
            "justification": f"{OPEN}why these choices were made",
        },
        "administrative": {
            "sources": f"{OPEN}links to the model, its card, and papers about it",
            "notes": release.statement,
            "registry_authors": [f"{OPEN}who wrote this entry"],
        },
    }
    if synthetic:
        basic["name"] += " (synthetic rows: a demonstration, not a deployment)"
    return {"url_slug": slug, "status": "Draft", "tier": 3, "deployment": deployment}


def entry_text(entry: Mapping[str, Any]) -> str:
    """Return an entry as the registry stores it."""
    import yaml

    # one line per text: the registry refuses folded ones
    return str(yaml.dump(dict(entry), Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=float("inf")))


def open_fields(content: Any, path: str = "") -> list[str]:
    """Return the names of the fields that a human has to complete."""
    if isinstance(content, Mapping):
        names = [name for key, value in content.items() for name in open_fields(value, f"{path}.{key}" if path else key)]
        return names if path else [*names, *LEFT_OUT]
    texts = content if isinstance(content, list) else [content]
    return [path] if any(OPEN in text for text in texts if isinstance(text, str)) else []


def _description(release: Release) -> str:
    size = _size(release)
    kind = "a real target" if release.kind == "real" else "a binary target"
    return f"Coefficients of a {release.model['name']} regression of {kind}, {release.target.name}, fitted on {size}."


def _size(release: Release) -> str:
    privacy = release.privacy
    if "persons" in privacy:
        return f"the rows of {privacy['persons']:,} persons"
    return f"{privacy['rows']:,} rows"


def _unprotected(release: Release) -> str:
    return (
        f"That there are {_size(release)}; the columns, their bounds and levels, declared without the rows; the mechanism, the "
        "model and their options."
    )


def _unit(release: Release) -> dict[str, str]:
    privacy = release.privacy
    if "persons" in privacy:
        details = f"all rows of one person, of which at most {privacy['rows_per_person']} count, are replaced by any others"
        return {"privacy_unit": "Person", "privacy_unit_details": f"Adjacent tables have the same persons except one: {details}."}
    details = "Adjacent tables have the same number of rows and differ in one row, which is replaced by any other."
    return {"privacy_unit": "Row", "privacy_unit_details": details}


def _answers(release: Release) -> Iterator[str]:
    for entry in release.privacy["ledger"]["entries"]:
        cost = ", ".join(f"{name} {value:.6g}" for name, value in entry["cost"].items() if name != "kind")
        yield f"{entry['query']} ({entry['cost']['kind']}): {cost}"


def _composition(release: Release) -> str:
    answers = len(release.privacy["ledger"]["entries"])
    if "selection" in release.privacy:
        return cost_sentence(release.privacy["selection"], release.privacy["epsilon"])
    closed = release.privacy["accounting"] == "closed"
    rule = "the closed-form conversion of its currency" if closed else "privacy-loss distributions"
    if answers == 1:
        return f"One private answer, converted to these parameters by {rule}."
    return f"{answers} private answers, composed adaptively in their own currency and converted by {rule}."


def _post_processing(release: Release) -> str:
    text = "Coefficients, standard errors and intervals follow from the private answers alone."
    if release.kind == "binary":
        return text
    return f"{text} Predictions are clipped to the target's bounds {release.target.low:g} to {release.target.high:g}."


def _mechanisms(release: Release) -> str:
    options = ", ".join(f"{key}={value}" for key, value in release.mechanism.items() if key != "name")
    proofs = dict.fromkeys(entry["proof"] for entry in release.privacy["ledger"]["entries"])
    facts = [
        f"Mechanism {release.mechanism['name']} of dpbench" + (f" with {options}" if options else ""),
        f"Made by {release.made_by}; the noise comes from the operating system's randomness and lies on a grid, so that no "
        "digit of a floating-point number reveals more",
        *(f"Proof: {proof}" for proof in proofs),
        f"{OPEN}how the rows are stored, and who can read them",
    ]
    return _lines("How the noise was drawn:", facts)


def _lines(heading: str, lines: Any) -> str:
    return "\n".join([heading, *(f"- {line}" for line in lines)]) + "\n"


def _dumper() -> Any:
    """Return a YAML dumper that writes texts of several lines as blocks, as the registry's own files have them."""
    import yaml

    class _Blocks(yaml.SafeDumper):  # type: ignore[misc]  # PyYAML ships no types
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    _Blocks.add_representer(str, text)
    return _Blocks
