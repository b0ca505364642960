"""The rows of an IPUMS extract, fixed-width or CSV, in the layout that its codebook describes."""

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dpbench.base.errors import Refused
from dpbench.files.codebook import read_codebook
from dpbench.files.dialects import USUAL_DIALECT, Dialect
from dpbench.files.table_files import File

CHUNK_ROWS = 100_000


class Extract(File):
    """A table whose columns are the variables of a codebook; the data file lies in the folder of the codebook."""

    def __init__(self, path: Path, dialect: Dialect = USUAL_DIALECT) -> None:
        self.codebook = read_codebook(path)
        self.data = self.codebook.data_file()
        super().__init__(path.name, dialect)

    def _names(self) -> tuple[str, ...]:
        return tuple(self.codebook.variables)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield Arrow record batches of texts."""
        import pyarrow

        frames = self._frames(names)
        while True:
            try:
                frame = next(frames, None)
            except Refused:
                raise
            except Exception as error:  # noqa: BLE001  pandas, gzip and zlib raise many types, and their messages may quote a row
                reason = "it is truncated" if isinstance(error, EOFError) else f"it is damaged ({type(error).__name__})"
                raise Refused(f"The data file {self.data.name} of the extract {self.label} cannot be read: {reason}.") from None
            if frame is None:
                return
            yield pyarrow.record_batch({name: pyarrow.array(self._texts(frame[name], name), pyarrow.string()) for name in names})

    def _frames(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield chunks of rows as ipumspy reads them."""
        import pandas
        from ipumspy import readers

        if self._fixed_width:
            self._check_line()
        yield from readers.read_microdata_chunked(
            self.codebook.layout,
            str(self.data),
            subset=list(names),
            chunksize=CHUNK_ROWS,
            # read texts: as integers, ipumspy's errors would quote values of the rows, and pandas would take NA for a blank
            dtype={name: pandas.StringDtype() for name in names},
            keep_default_na=False,
        )

    @property
    def _fixed_width(self) -> bool:
        return ".dat" in self.data.suffixes

    def _check_line(self) -> None:
        """Refuse the data of another codebook, whose lines would be cut in the wrong places."""
        opened: Any = gzip.open if self.data.suffix == ".gz" else open
        with opened(self.data, "rt", encoding="latin-1") as lines:
            length = len(lines.readline().rstrip("\r\n"))
        described = max(field.end for field in self.codebook.layout.data_description)
        if length != described:
            raise Refused(
                f"The lines of {self.data.name} must have the {described} characters that {self.label} describes. Got {length}: "
                "is it the data file of this codebook?"
            )

    def _texts(self, column: Any, name: str) -> Any:
        """Return a column with the decimal points that fixed-width data leaves out."""
        decimals = self.codebook.variables[name].decimals
        texts = column.str.strip()
        if not decimals or not self._fixed_width:
            return texts
        digits = texts.str.zfill(decimals + 2)  # a sign and a digit before the point
        # the rest stays as it is: a blank, a number with a point, or a text that is refused by its row
        whole = texts.str.fullmatch(r"-?\d+", na=False)
        return texts.mask(whole, digits.str[:-decimals] + "." + digits.str[-decimals:])
