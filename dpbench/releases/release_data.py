"""What a release is fitted on: all rows of a table, loaded or streamed, with errors that quote no row."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from dpbench.base.errors import Refused
from dpbench.base.one_thread import one_thread
from dpbench.base.random_streams import stream
from dpbench.cells.loading import identity
from dpbench.cells.streaming import StreamedRows
from dpbench.contracts.dataset import Dataset
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Model
from dpbench.data.samples import Sample, WholeSample
from dpbench.data.scaling import scale
from dpbench.data.splits import Splits
from dpbench.data.table import Table
from dpbench.releases.budget_book import Payer
from dpbench.sweeps.streamed_tables import needs_rows


@dataclass(frozen=True)
class ReleaseData:
    """What a release is fitted on."""

    table: Table
    """The table; of a streamed one, what is declared of it."""
    sample: Sample
    rows: int
    payer: Payer
    """The table that was read: it pays for the release."""

    @property
    def n(self) -> int:
        """The public number of rows: where persons may have several, the most that they can have."""
        return int(self.sample.n[0])

    @property
    def size(self) -> dict[str, int]:
        """How many rows the table has or, where persons may have several, what is public instead."""
        persons = self.table.persons
        return {"rows": self.rows} if persons is None else {"persons": persons.count, "rows_per_person": persons.rows_each}


def read_all_rows(dataset: Dataset, model: Model, mechanisms: Sequence[Mechanism], seed: int) -> ReleaseData:
    """Return all rows of a dataset, scaled; a table that is streamed is read once, which checks it."""
    with _quoting_no_row(dataset):
        payer = Payer.of(dataset)  # before the rows are read: a file that is replaced from here on is noticed
    data = _streamed(dataset, model, mechanisms, payer) if dataset.streams() else _loaded(dataset, model, seed, payer)
    _check_same(dataset, payer)
    return data


def replaced(dataset: Dataset) -> Refused:
    """Return the refusal of a table whose rows changed while they were read: another table would pay for them."""
    return Refused(f"The file of {dataset.display_name} was replaced while its rows were read: run the release again.")


def _table(dataset: Dataset, seed: int) -> Table:
    """Load all rows. The seed draws those of a synthetic table, as in a sweep, and no noise."""
    with _quoting_no_row(dataset):
        return dataset.select(stream(seed, identity(dataset), "table", 0 if dataset.redrawn() else -1))


def _loaded(dataset: Dataset, model: Model, seed: int, payer: Payer) -> ReleaseData:
    """Load all rows, and scale them."""
    table = _table(dataset, seed)
    return ReleaseData(table, WholeSample(scale(table, dataset.scaling, model.intercept, model.target)), table.rows, payer)


def _streamed(dataset: Dataset, model: Model, mechanisms: Sequence[Mechanism], payer: Payer) -> ReleaseData:
    """Read all rows once, which checks them; every query reads them again, and refuses a file that was replaced."""
    for mechanism in mechanisms:
        if reason := needs_rows(mechanism, model):
            raise Refused(reason)
    with one_thread(), _quoting_no_row(dataset):
        rows = StreamedRows(dataset, model, Splits(repeats=1, by="blocks"), seed=0)
        sample = rows.whole_sample(lambda: _check_same(dataset, payer))
        return ReleaseData(rows.stream.head, sample, rows.stream.rows, payer)


def _check_same(dataset: Dataset, payer: Payer) -> None:
    """Refuse rows that were read if their table is no longer the one that pays for them."""
    with _quoting_no_row(dataset):
        if Payer.of(dataset) != payer:
            raise replaced(dataset)


@contextmanager
def _quoting_no_row(dataset: Dataset) -> Iterator[None]:
    """Refuse a dataset whose reading fails, without the error's own text, which could quote a row."""
    try:
        yield
    except Refused:
        raise
    except Exception as error:  # noqa: BLE001  a traceback could quote rows, too
        raise Refused(f"The dataset {dataset.name} cannot be loaded: {type(error).__name__}.") from None
