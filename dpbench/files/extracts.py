"""The rows of an IPUMS extract, fixed-width or CSV, in the layout that its codebook describes."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dpbench.base.errors import Refused
from dpbench.files.codebook import Codebook, read_codebook
from dpbench.files.table_files import File

CHUNK_ROWS = 100_000


class Extract(File):
    """A table whose columns are the variables of a codebook; the data file lies in the folder of the codebook."""

    def __init__(self, path: Path) -> None:
        self.codebook: Codebook = read_codebook(path)
        self.data = self.codebook.data_file()
        super().__init__(path.name)

    def _names(self) -> tuple[str, ...]:
        return tuple(self.codebook.variables)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield Arrow record batches of texts, numbers with their decimal point."""
        import pandas
        import pyarrow
        from ipumspy import readers

        frames = readers.read_microdata_chunked(
            self.codebook.layout,
            str(self.data),
            subset=list(names),
            chunksize=CHUNK_ROWS,
            # read texts: as integers, ipumspy's errors would quote values of the rows, and pandas would take NA for a blank
            dtype={name: pandas.StringDtype() for name in names},
            keep_default_na=False,
        )
        while True:
            try:
                frame = next(frames, None)
            except Exception as error:  # noqa: BLE001  pandas, gzip and zlib raise many types, and their messages may quote a row
                reason = "it is truncated" if isinstance(error, EOFError) else f"it is damaged ({type(error).__name__})"
                raise Refused(f"The data file {self.data.name} of the extract {self.label} cannot be read: {reason}.") from None
            if frame is None:
                return
            yield pyarrow.record_batch({name: pyarrow.array(self._texts(frame[name], name), pyarrow.string()) for name in names})

    def _texts(self, column: Any, name: str) -> Any:
        """Return a column with the decimal points that fixed-width data leaves out."""
        decimals = self.codebook.variables[name].decimals
        texts = column.str.strip()
        if not decimals or ".dat" not in self.data.suffixes:
            return texts
        digits = texts.str.zfill(decimals + 2)  # a sign and a digit before the point
        # what is no whole number stays as it is: a blank, a number with a point, or a text that is refused by its row
        return (digits.str[:-decimals] + "." + digits.str[-decimals:]).where(texts.str.fullmatch(r"-?\d+", na=False), texts)


def source_files(path: str) -> tuple[str, ...]:
    """Return the files that make up the table at a path: two for an extract."""
    codebook = codebook_of(path)
    return (str(codebook), str(read_codebook(codebook).data_file())) if codebook else (path,)


def codebook_of(path: str) -> Path | None:
    """Return the codebook of the extract at a path, which may name the codebook or the fixed-width data next to it."""
    file = Path(path).expanduser()
    if file.suffix.lower() == ".xml":
        return file
    codebook = file.with_name(file.name.removesuffix(".gz").removesuffix(".dat") + ".xml")
    return codebook if ".dat" in file.suffixes and codebook.is_file() else None
