"""What a reader must know before any number, and about single cells: generated data, leaks, clipped targets."""

from collections import Counter
from collections.abc import Sequence

from dpbench.records.cell_record import CellRecord
from dpbench.records.leaks import UNPROVEN_NOISE
from dpbench.records.names import DIVERGING, FEATURES_CLIPPED, LEAST_SPREAD, TARGET_CLIPPED
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.formatting import group_by, listed, plural

ERRORS_ARE_PRIVATE = (
    "These errors are computed on the private rows: publishing them is a release of its own, which no ε above covers."
)
STORE_IS_PRIVATE = (
    "this store holds exact errors of fits on private rows, and is therefore as private as the table. Show it to nobody who may "
    "not see the table"
)
EXACT_NEXT_TO_SECURE = (
    "The noise of the fits came from OpenDP, but the errors and the references next to them are exact: only `python -m dpbench "
    "release` makes something that may leave the machine."
)
SIMULATED_NOISE = "The noise was drawn from a seed: for experiments only. `python -m dpbench release` draws secure noise."
NO_WEIGHTS = "gave no finite weights and are left out"
GRADIENTS_GREW = (
    "the last released gradient is far longer than the shortest one: the descent moved away from the minimum, and such a fit may "
    "be worse than predicting the same for everybody"
)
CLIPPED = "lie outside the declared bounds and are clipped to them; errors are measured against the clipped targets"
NARROW = (
    "of the grid on which sums are exact: few of its digits are left. Declare narrower bounds, if they can be known without "
    "the rows, or leave it out."
)
MIN_CLIPPED_SHARE = 0.01
"""Tables with a larger share of clipped targets, or of clipped values of a feature, get a warning."""
MAX_CLIPPED_FEATURES = 3
"""A warning names this many features."""


def warnings(sweep: SweepRecord) -> list[tuple[str, str]]:
    """Return a title and a sentence for everything that changes the meaning of every number."""
    texts = []
    if sweep.changed:
        settings = listed((f"`{override}`" for override in sweep.changed), most=100)
        text = f"The preset was changed on the command line: {settings}. These are not the numbers that its paper shows."
        texts.append(("Not the paper's figure", text))
    if sweep.synthetic:
        names = listed(cell.params["dataset"] for cell in sweep.done if cell.synthetic)
        texts.append(("SYNTHETIC data", f"The rows of {names} were generated: no number about them is about people."))
    if sweep.quick:
        texts.append(("A first look", "quick=true shrank this sweep to few repeats, which prove nothing. Run it again without."))
    return texts


def disclosures(cells: Sequence[CellRecord]) -> list[tuple[str, str]]:
    """Return a title and a sentence for what may be shown to whom: the store of a private table, and each kind of noise."""
    done = [cell for cell in cells if cell.done]
    private = dict.fromkeys(cell.params["dataset"] for cell in done if not cell.table_is_public)
    texts = [("Private store", f"The rows of {listed(private)} are not public: {STORE_IS_PRIVATE}.")] if private else []
    texts += [("Simulated noise", SIMULATED_NOISE)] if any(cell.simulated for cell in done) else []
    return texts + ([("Exact errors", EXACT_NEXT_TO_SECURE)] if any(cell.secure for cell in done) else [])


def leak_sentences(cells: Sequence[CellRecord]) -> list[str]:
    """Return a sentence for everything that leaked, and for noise without a proof, with the number of cells."""
    sentences = []
    for leak, count in Counter(leak for cell in cells if cell.done for leak in cell.leaks).items():
        word, name = ("UNPROVEN", "") if leak.what == UNPROVEN_NOISE.what else ("LEAKS", f"{leak.what}: ")
        sentences.append(f"{word} in {plural(count, 'cell')}: {name}{leak.why}.")
    return sentences


def health_sentences(cells: Sequence[CellRecord]) -> list[str]:
    """Return a sentence for each mechanism with runs that failed or diverge, each table with many clipped values, and remarks."""
    missing = _largest(cells, "mechanism", "health/not_finite", 0.0)
    growing = _largest(cells, "mechanism", DIVERGING, 0.0)
    clipped = _largest(cells, "dataset", TARGET_CLIPPED, MIN_CLIPPED_SHARE)
    features = _largest(cells, "dataset", FEATURES_CLIPPED, MIN_CLIPPED_SHARE)
    narrow = {cell.params["dataset"]: cell.metrics[LEAST_SPREAD] for cell in cells if cell.done and LEAST_SPREAD in cell.metrics}
    return [
        *(f"{mechanism}: up to {share:.0%} of the runs of a cell {NO_WEIGHTS}." for mechanism, share in missing.items()),
        *(
            f"{mechanism}: in up to {100 * share:.2g} % of the runs of a cell {GRADIENTS_GREW}."
            for mechanism, share in growing.items()
        ),
        *(f"{dataset}: {share:.0%} of the targets {CLIPPED}." for dataset, share in clipped.items()),
        *(f"{dataset}: {_features_text(cells, dataset, share)}" for dataset, share in features.items()),
        *(f"{dataset}: {_steps(steps)} {NARROW}" for dataset, steps in narrow.items()),
        *dict.fromkeys(f"{cell.params['dataset']}: {cell.remarks}" for cell in cells if cell.done and cell.remarks),
    ]


def _steps(spread: float) -> str:
    if spread < 1:
        return "the standard deviation of a feature is less than one step"
    return f"the standard deviation of a feature is {spread:.2g} steps"


def _features_text(cells: Sequence[CellRecord], dataset: str, share: float) -> str:
    """Return which features of a dataset have values outside their bounds; only the cell with the largest share is read."""
    known = (cell for cell in cells if cell.done and cell.params["dataset"] == dataset)
    worst = next(cell for cell in known if cell.metrics.get(FEATURES_CLIPPED) == share)
    shares = {name: part for name, part in worst.detail.clipped.items() if part > MIN_CLIPPED_SHARE}
    ordered = sorted(shares, key=lambda name: -shares[name])
    parts = [f"{shares[name]:.0%} of the values of {name!r}" for name in ordered] or [f"{share:.0%} of the values of a feature"]
    return f"{listed(parts, most=MAX_CLIPPED_FEATURES)} lie outside the declared bounds and are clipped to them."


def _largest(cells: Sequence[CellRecord], param: str, metric: str, minimum: float) -> dict[str, float]:
    """Return the largest value of a metric for each value of a parameter, where it is above a minimum."""
    groups = group_by((cell for cell in cells if cell.done), lambda cell: cell.params[param])
    largest = {name: max(cell.metrics.get(metric, 0.0) for cell in group) for name, group in groups.items()}
    return {name: value for name, value in largest.items() if value > minimum}
