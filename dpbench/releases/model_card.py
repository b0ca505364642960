"""The model card: a page of Markdown about a released model, for people who get the file and not its owner."""

from collections.abc import Iterator, Mapping
from typing import Any

from dpbench.data.table import Column
from dpbench.releases.release_file import Release
from dpbench.releases.release_inputs import ReleaseInput, inputs_of
from dpbench.releases.released_intervals import NoIntervals
from dpbench.releases.selection_sentences import cost_sentence, score_sentence, secret_sentence

MARK = "<!-- a model card of dpbench -->"
"""The first line of every card, by which a card is recognised before it is replaced."""


def model_card(release: Release, file: str) -> str:
    """Return the card of a release that lies in a file of this name."""
    sections = {
        "What it is": _what(release),
        "What is promised": [release.statement, "", _ledger(release)],
        **({"How it was chosen": _choice(release)} if "selection" in release.privacy else {}),
        "What it is not for": _not_for(release),
        "Columns and bounds": _columns(release),
        "Coefficients": _coefficients(release),
        "How errors were estimated": _errors(release),
        "How to use it": _use(release, file),
        "How to check it": _check(file),
        "How it was made": _origin(release),
    }
    title = f"# A differentially private model of {_code(release.target.name)}"
    body = [line for heading, lines in sections.items() for line in ("", f"## {heading}", "", *lines)]
    return "\n".join([MARK, "", title, *body]) + "\n"


def _what(release: Release) -> Iterator[str]:
    if release.dataset["synthetic"]:
        yield "**The rows are synthetic: they belong to no person, and this model is a demonstration.**"
        yield ""
    target, unit = _code(release.target.name), f" in {release.target.unit}" if release.target.unit else ""
    predicts = f"predicts {target}{unit}"
    if release.event:
        predicts = f"predicts the probability that {target} is {_plain(release.event)}"
    yield f"A model of the kind `{release.model['name']}` that {predicts} from {len(inputs_of(release))} attributes."
    fitted = "fitted it, with noise that bounds what it says about any one of the rows."
    yield f"The mechanism `{release.mechanism['name']}` {fitted}"


def _ledger(release: Release) -> str:
    privacy = release.privacy
    delta = f", δ = {privacy['delta']:.3g}" if privacy["delta"] else ""
    answers = len(privacy["ledger"]["entries"])
    return (
        f"ε = {privacy['epsilon']:.6g}{delta}; neighbours: `{privacy['neighbours']}`; noise: {privacy['noise']}; "
        f"{answers} private {'answer' if answers == 1 else 'answers'}, listed in the file with what each cost."
    )


def _choice(release: Release) -> Iterator[str]:
    selection, epsilon = release.privacy["selection"], release.privacy["epsilon"]
    yield f"{cost_sentence(selection, epsilon)} {secret_sentence(selection)}".rstrip()
    yield ""
    yield "The candidates, of which this is the one with the best noisy score:"
    yield ""
    for candidate in selection["candidates"]:
        yield f"- {_component(candidate['mechanism'])} on {_component(candidate['model'])}"


def _component(part: Mapping[str, Any]) -> str:
    options = ", ".join(f"{key}={value}" for key, value in part.items() if key != "name")
    return _code(part["name"]) + (f" ({options})" if options else "")


def _not_for(release: Release) -> Iterator[str]:
    unit = "person" if "persons" in release.privacy else "row"
    yield f"- Conclusions about a single {unit} of the table, which the noise protects."
    yield "- Rows unlike those of the table. Values outside the bounds below are clipped to them."
    yield "- Causes: a coefficient is what goes together with the target, not what changes it."
    yield "- Decisions about people without a check of what the model does to each group of them: none was made."
    if isinstance(release.inference, NoIntervals):
        yield "- Tests of coefficients: this model has no standard errors."


def _columns(release: Release) -> Iterator[str]:
    yield "The owner declared these from public knowledge. They are not protected."
    yield ""
    yield "| column | values | unit | meaning |"
    yield "|---|---|---|---|"
    for each in inputs_of(release):
        first = each.columns[0]
        unit, meaning = ("", "") if each.levels else (first.unit, first.meaning)
        yield _row(each.name, _values(each), unit, meaning)
    yield _row(f"{release.target.name} (the target)", _range(release.target), release.target.unit, release.target.meaning)


def attribute_lines(release: Release) -> list[str]:
    """Return each attribute and the target with the values that are declared for them."""
    target = f"{release.target.name} (the target): {_range(release.target)}"
    return [*(f"{each.name}: {_values(each)}" for each in inputs_of(release)), target]


def _values(each: ReleaseInput) -> str:
    form = each.format
    text = ", ".join(each.levels) if each.levels else _range(each.columns[0])
    text += f"; the {form.part} of a date" if form.part else ""
    text += f"; a missing value counts as {form.missing}" if form.missing else ""
    return text + (f"; any other value counts as {form.other}" if form.other else "")


def _range(column: Column) -> str:
    whole = ", whole numbers" if column.kind != "continuous" else ""
    transform = f", transformed by {column.transform.name}" if column.transform else ""
    return f"{column.low:g} to {column.high:g}{whole}{transform}"


def _coefficients(release: Release) -> list[str]:
    weights = release.weights_in_own_units()
    if not isinstance(release.inference, NoIntervals):
        return ["```text", *release.intervals().lines(release.columns, release.target, release.kind == "binary"), "```"]
    rows = [
        _row(name, f"{weight:.4g}", f"{weights[name]:.4g}" if name in weights else "") for name, weight in release.weights.items()
    ]
    note = "The intercept is the prediction where every numeric column is in the middle of its bounds."
    return ["| coefficient | on scaled columns | in own units |", "|---|---:|---:|", *rows, "", note]


def _errors(release: Release) -> list[str]:
    errors = "No error of its predictions was computed: a number computed from the private rows would have to be paid for."
    if "selection" in release.privacy:
        errors = score_sentence(release.privacy["selection"], release.privacy, release.target, release.kind)
    if isinstance(release.inference, NoIntervals):
        return [errors, release.inference.reason]
    return [errors, f"The standard errors follow from the same noisy answers. {release.inference.sentence}"]


def _use(release: Release, file: str) -> list[str]:
    names = ", ".join(_code(each.name) for each in inputs_of(release))
    return [
        f"A new row needs {names}, in the units above.",
        "",
        "```sh",
        "pip install dp-regression-bench",
        f"python -m dpbench predict {file} new.csv out=predictions.csv",
        "```",
        "",
        f'In Python: `dpbench.load_release("{file}").predict(frame)`.',
    ]


def _check(file: str) -> list[str]:
    return [
        "```sh",
        "pip install 'dp-regression-bench[accounting]'",
        f"python -m dpbench verify {file}",
        "```",
        "",
        "recomputes ε and δ from the ledger and checks the statement, the versions and the audit's verdict. No row is needed.",
    ]


def _origin(release: Release) -> Iterator[str]:
    yield f"Made by {release.made_by}."
    if release.dataset.get("citation"):
        yield f"Data: {release.dataset['citation']} Licence: {release.dataset['licence']}."
    if release.command:
        yield from ("", "```sh", release.command, "```")


def _row(*cells: str) -> str:
    return f"| {' | '.join(_plain(cell) for cell in cells)} |"


def _plain(text: str) -> str:
    """Return a text that Markdown shows as it is, in one cell of a table."""
    escaped = text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("`", "\\`")
    return " ".join(escaped.split())


def _code(name: str) -> str:
    """Return a name in Markdown's code font."""
    return f"`{' '.join(name.replace('`', chr(39)).split())}`"


def is_card(text: str) -> bool:
    """Return whether a text is a card."""
    return text.startswith(MARK)
