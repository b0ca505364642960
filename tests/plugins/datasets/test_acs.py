"""The American Community Survey: fetched once from a server on this machine, joined, checked, and read without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from download_servers import HOUSEHOLDS, PERSONS, Bureau, archive

from dpbench.__main__ import main
from dpbench.base.errors import Refused
from dpbench.base.random_streams import stream
from dpbench.data.table import Table

pytest.importorskip("pooch", reason="the extra `download` is not installed")


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Stop answering."""
    return lambda: monkeypatch.setenv("DPBENCH_ACS_URL", "http://127.0.0.1:9")


FETCH = ["data", "fetch", "acs", "state=vt", "year=2019"]


def table(make: Any, **options: Any) -> Table:
    loaded: Table = make("dataset", "acs", state="VT", year=2019, **options).select(stream(0))
    return loaded


def test_persons_and_households_are_joined_and_recoded(bureau: Bureau, make: Any) -> None:
    assert main(FETCH) == 0
    acs = table(make)
    names = [column.name for column in acs.columns]
    expected = [
        [41, 0, 0, 1, 9, 0, 0, 40, 7, 1, 3, 1, 2],
        [39, 1, 0, 1, 5, 0, 1, 20, 7, 1, 3, 1, 2],
        [67, 1, 0, 0, 12, 1, 0, 10, 35, 1, 1, 0, 6],
        [30, 0, 1, 0, 4, 0, 0, 50, 0.5, 0, 1, 0, 2],
    ]
    np.testing.assert_array_equal(acs.features, expected)
    np.testing.assert_array_equal(acs.response, [52_000, 18_000, -3_000, 999_000])
    assert names == list(make("dataset", "census").subsets()[14])
    for column, values in zip(acs.columns, acs.features.T, strict=True):
        assert column.low <= values.min() <= values.max() <= column.high


def test_persons_that_are_left_out_are_counted_and_a_leak(bureau: Bureau, make: Any) -> None:
    assert main(FETCH) == 0
    acs = table(make)
    assert acs.dropped == 3
    (leak,) = acs.leaks
    assert leak.what == "rows_dropped"
    assert "3 of 7 rows" in leak.why
    assert "WKHP 1, PINCP 1, MV 2, TEN 2" in leak.why
    assert table(make, sample_n=3).leaks == ()
    assert not make("dataset", "acs").synthetic


def test_every_education_code_has_its_level(bureau: Bureau, make: Any) -> None:
    """24 codes and the 12 levels of the stand-in: none, pre-school, grades 1-8, 9-12, school, GED, college, five degrees."""
    rows = "".join(f"P,2019HU0000001,50,1,41,1,1,{code:02d},2,1,40,{code}\n" for code in range(1, 25))
    bureau.files["/pums/2019/1-Year/csv_pvt.zip"] = archive("psam_p50", PERSONS.splitlines(keepends=True)[0] + rows)
    assert main(FETCH) == 0
    levels = table(make).features[:, 4].astype(int).tolist()
    assert levels == [1, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 5, 6, 7, 7, 8, 9, 10, 11, 12]


def test_a_table_in_two_parts_is_one(bureau: Bureau, make: Any) -> None:
    header, *rows = PERSONS.splitlines(keepends=True)
    bureau.files["/pums/2019/1-Year/csv_pvt.zip"] = archive("psam_p", header + "".join(rows[:2]), header + "".join(rows[2:]))
    assert main(FETCH) == 0
    assert table(make).rows == 4


def test_with_a_warm_cache_no_network_is_needed(bureau: Bureau, offline: Any, make: Any, capsys: Any) -> None:
    assert main(FETCH) == 0
    assert len(bureau.requests) == 2
    offline()
    assert main(FETCH) == 0
    assert "Already downloaded" in capsys.readouterr().out
    assert table(make).rows == 4
    assert len(bureau.requests) == 2


def refused(capsys: Any, arguments: list[str], *words: str) -> None:
    capsys.readouterr()
    assert main(arguments) == 2
    _, err = capsys.readouterr()
    assert err.count("\n") == 1, err
    assert "Traceback" not in err
    for word in words:
        assert word in err


def test_nothing_is_downloaded_without_a_fetch(bureau: Bureau, make: Any) -> None:
    with pytest.raises(Refused, match="`python -m dpbench data fetch acs state=vt year=2019 horizon=1-Year` downloads it"):
        table(make)
    with pytest.raises(Refused, match="is not in the cache folder"):
        make("dataset", "acs").fingerprint()
    assert bureau.requests == []


def test_without_a_network_one_sentence_says_so(bureau: Bureau, offline: Any, capsys: Any, tmp_path: Path) -> None:
    offline()
    refused(capsys, FETCH, "is there a network?")
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_a_file_that_the_server_does_not_have_is_one_sentence(bureau: Bureau, capsys: Any) -> None:
    refused(capsys, ["data", "fetch", "acs", "state=wy"], "The server answered 404", "/2019/1-Year/csv_pwy.zip")


def test_a_file_that_is_not_an_archive_is_not_saved(bureau: Bureau, capsys: Any, tmp_path: Path) -> None:
    bureau.files["/pums/2019/1-Year/csv_pvt.zip"] = b"<html>Moved</html>"
    refused(capsys, FETCH, "It is not a zip archive.")
    assert [path.name for path in (tmp_path / "cache").rglob("*.*") if path.is_file()] == []
    bureau.files["/pums/2019/1-Year/csv_pvt.zip"] = archive("psam_p50", PERSONS)
    assert main(FETCH) == 0


def test_a_download_that_breaks_off_is_not_saved(bureau: Bureau, capsys: Any, tmp_path: Path) -> None:
    whole = bureau.files["/pums/2019/1-Year/csv_pvt.zip"]
    bureau.files["/pums/2019/1-Year/csv_pvt.zip"] = whole[: len(whole) // 2]
    refused(capsys, FETCH, "It is not a zip archive.")


def test_the_first_checksum_is_enforced_on_the_file(bureau: Bureau, make: Any, tmp_path: Path) -> None:
    assert main(FETCH) == 0
    (path,) = (tmp_path / "cache").rglob("csv_pvt.zip")
    path.write_bytes(archive("psam_p50", PERSONS.replace("52000", "62000")))
    with pytest.raises(Refused, match="is not the one that was downloaded first: its sha256 has changed"):
        table(make)
    with pytest.raises(Refused, match="sha256 has changed"):
        make("dataset", "acs", state="vt", year=2019).fingerprint()


def test_the_first_checksum_is_enforced_on_later_downloads(bureau: Bureau, make: Any, capsys: Any, tmp_path: Path) -> None:
    assert main(FETCH) == 0
    (path,) = (tmp_path / "cache").rglob("csv_pvt.zip")
    path.unlink()
    good = bureau.files["/pums/2019/1-Year/csv_pvt.zip"]
    bureau.files["/pums/2019/1-Year/csv_pvt.zip"] = archive("psam_p50", PERSONS.replace("52000", "62000"))
    refused(capsys, FETCH, "now sends another file than when csv_pvt.zip was first downloaded: its sha256 differs")
    assert not path.exists()
    bureau.files["/pums/2019/1-Year/csv_pvt.zip"] = good
    assert main(FETCH) == 0
    assert table(make).rows == 4


def test_a_file_without_a_stored_checksum_is_refused(bureau: Bureau, make: Any, tmp_path: Path) -> None:
    assert main(FETCH) == 0
    (sums,) = (tmp_path / "cache").rglob("sha256.txt")
    sums.write_text("")
    with pytest.raises(Refused, match=r"has no checksum of csv_pvt\.zip"):
        table(make)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"csv_pvt.zip": PERSONS.replace("WKHP", "WKH")}, "There is no column of csv_pvt.zip/psam_p50.csv named 'WKHP'"),
        (
            {"csv_pvt.zip": PERSONS.replace("52000", "Zq7Secret")},
            "The column 'PINCP' of csv_pvt.zip/psam_p50.csv must hold numbers. Row 1",
        ),
        ({"csv_hvt.zip": HOUSEHOLDS + HOUSEHOLDS.splitlines()[2]}, "must hold each household once"),
    ],
)
def test_a_table_of_another_layout_is_refused(bureau: Bureau, make: Any, changed: dict[str, str], words: str) -> None:
    for name, text in changed.items():
        bureau.files[f"/pums/2019/1-Year/{name}"] = archive("psam_p50", text)
    assert main(FETCH) == 0
    with pytest.raises(Refused) as refusal:
        table(make)
    assert words in str(refusal.value)
    assert "Zq7Secret" not in str(refusal.value)


@pytest.mark.parametrize("state", ["xx", "Vermont", ""])
def test_a_state_is_two_letters(state: str, make: Any) -> None:
    with pytest.raises(Refused, match="must be the two letters of a state"):
        make("dataset", "acs", state=state)


def test_a_downloaded_table_sweeps(bureau: Bureau, monkeypatch: pytest.MonkeyPatch) -> None:
    import dpbench

    bureau.repeat_persons(40)
    assert main(FETCH) == 0
    options = {"dataset.state": "vt", "dataset.sample_n": 100, "splits.repeats": 2}
    frame = dpbench.sweep(options, dataset="acs", mechanism=["fm", "no_privacy"], engine="serial", record=False).full
    assert list(frame["state"]) == ["run", "run"]
    assert list(frame["dpbench.leaks"]) == ["", ""]
