"""The user's own IPUMS extract, from a generator of extracts: no row here is a person. And the service that makes extracts."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import json
import os
import sys
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbench.__main__ import main
from dpbench.base.errors import Refused, Unfinished
from dpbench.base.random_streams import stream
from dpbench.data.table import Table

pytest.importorskip("ipumspy", reason="the extra `ipums` is not installed")

FIXTURE = Path(os.environ.get("DPBENCH_SHARED_DATA", "nowhere"), "ipums_fixture", "ipumsi_fixture.xml")
SECRET = "Zq7Secret"
NIU, UNKNOWN = "NIU (not in universe)", "Unknown/missing"

Answers = dict[int, str]


@dataclass(frozen=True)
class Var:
    """A variable of an extract: its name, its width, its labelled codes, a note on its coding, what is drawn."""

    name: str
    width: int
    labels: Answers = field(default_factory=dict)
    note: str = ""
    values: tuple[int, ...] = (1, 2)
    missing: tuple[int, ...] = ()
    """Codes that are no answer, in whatever way the codebook says so."""


VARS = (
    Var("COUNTRY", 3, {76: "Brazil", 840: "United States"}, values=(840,)),
    Var("SERIAL", 10, values=(7,)),
    Var("AGE", 3, {999: "Not reported/missing"}, values=(16, 40, 100), missing=(999,)),
    Var("SEX", 1, {1: "Male", 2: "Female", 9: "Unknown"}, missing=(9,)),
    Var(
        "MARST",
        1,
        {0: NIU, 1: "Single", 2: "Married", 3: "Separated/spouse absent", 4: "Widowed", 9: UNKNOWN},
        values=(1, 2, 3, 4),
        missing=(0, 9),
    ),
    Var("EDATTAIN", 1, {0: NIU, 9: "Unknown"}, values=(1, 2, 3, 4), missing=(0, 9)),
    Var("DISABLED", 1, {0: NIU, 9: "Unknown"}, missing=(0, 9)),
    Var("NATIVITY", 1, {0: NIU, 9: "Unknown"}, missing=(0, 9)),
    Var("HRSWORK1", 3, {998: "Unknown", 999: NIU}, values=(0, 40, 140), missing=(998, 999)),
    Var("MIGYRS1", 2, {95: "95+", 96: "Unknown", 98: "Unknown", 99: NIU}, values=(0, 5, 95), missing=(96, 98, 99)),
    Var("OWNERSHIP", 1, {0: NIU, 1: "Owned", 2: "Not owned", 9: "Unknown"}, missing=(0, 9)),
    Var("FAMSIZE", 2, values=(1, 4, 17)),
    Var("NCHILD", 1, {9: "9+"}, values=(0, 3, 9)),
    Var(
        "AUTOS", 1, {6: "6+ autos", 7: "Have auto, number unspecified", 8: "Unknown", 9: NIU}, values=(0, 2, 6), missing=(7, 8, 9)
    ),
    Var(
        "INCTOT",
        7,
        note="9999998 = Unknown/missing. 9999999 = NIU.",
        values=(0, 25_000, 999_998, -20_000),
        missing=(9_999_998, 9_999_999),
    ),
)


@dataclass
class Extracts:
    """Writes extracts: a codebook and a data file, rows complete but for those asked for."""

    folder: Path
    variables: tuple[Var, ...] = VARS
    structure: str = "rectangular"

    def rows(self, count: int, seed: int = 0) -> list[dict[str, int | str]]:
        generator = np.random.default_rng(seed)
        return [{one.name: int(generator.choice(one.values)) for one in self.variables} for _ in range(count)]

    def write(self, rows: list[dict[str, int | str]], name: str = "usa", suffix: str = ".dat.gz") -> Path:
        lines = ["".join(_field(row[one.name], one.width) for one in self.variables) for row in rows]
        content = ("\n".join(lines) + "\n").encode("latin-1")
        if suffix.startswith(".csv"):
            names = [one.name for one in self.variables]
            table = [names, *([row[name] for name in names] for row in rows)]
            content = "".join(",".join(map(str, line)) + "\n" for line in table).encode()
        (self.folder / f"{name}{suffix}").write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)
        path = self.folder / f"{name}.xml"
        path.write_text(self.codebook(name), encoding="utf-8")
        return path

    def codebook(self, name: str) -> str:
        start, described = 1, []
        for one in self.variables:
            end = start + one.width - 1
            labels = "".join(
                f"<catgry><catValu>{code:0{one.width}d}</catValu><labl>{text}</labl></catgry>"
                for code, text in one.labels.items()
            )
            note = f"<codInstr>{one.note}</codInstr>" if one.note else ""
            described.append(
                f'<var ID="{one.name}" name="{one.name}" dcml="0" intrvl="discrete"><location StartPos="{start}" EndPos="{end}" '
                f'width="{one.width}"/><labl>{one.name}</labl><txt>{one.name}</txt>{labels}{note}<concept>Synthetic</concept>'
                '<varFormat type="numeric" schema="other"/></var>'
            )
            start = end + 1
        return (
            '<?xml version="1.0" encoding="UTF-8"?><codeBook xmlns="ddi:codebook:2_5">'
            '<stdyDscr><citation><serStmt><serName abbr="IPUMSI">I</serName><serInfo>none</serInfo></serStmt></citation>'
            "<stdyInfo><notes>Synthetic</notes></stdyInfo><dataAccs><useStmt><conditions>none</conditions><citReq>none</citReq>"
            f"</useStmt></dataAccs></stdyDscr><fileDscr><fileTxt><fileName>{name}.dat</fileName><fileCont>synthetic</fileCont>"
            f'<fileStrc type="{self.structure}"/><fileType charset="ISO-8859-1"/><format>fixed</format><filePlac>none</filePlac>'
            f"</fileTxt></fileDscr><dataDscr>{''.join(described)}</dataDscr></codeBook>"
        )


def _field(value: int | str, width: int) -> str:
    return f"{value:0{width}d}" if isinstance(value, int) else value.rjust(width)


@pytest.fixture
def extracts(tmp_path: Path) -> Extracts:
    return Extracts(tmp_path)


@pytest.fixture
def read(make: Any) -> Callable[..., Table]:
    def table(path: Path, name: str = "census", seed: int = 0, **options: Any) -> Table:
        found: Table = make("dataset", name, extract=str(path), **options).table(stream(seed))
        return found

    return table


def test_every_code_becomes_what_it_means(extracts: Extracts, read: Any) -> None:
    row = extracts.rows(1)[0]
    rows = [
        {**row, "AGE": 100, "SEX": 2, "MARST": 1, "EDATTAIN": 4, "DISABLED": 1, "NATIVITY": 2, "HRSWORK1": 140, "MIGYRS1": 95},
        {**row, "AGE": 16, "SEX": 1, "MARST": 2, "EDATTAIN": 1, "DISABLED": 2, "NATIVITY": 1, "HRSWORK1": 0, "MIGYRS1": 0},
        {**row, "AGE": 16, "SEX": 1, "MARST": 4, "EDATTAIN": 1, "DISABLED": 2, "NATIVITY": 1, "HRSWORK1": 0, "MIGYRS1": 0},
    ]
    last: dict[str, int | str] = {"OWNERSHIP": 1, "FAMSIZE": 17, "NCHILD": 9, "AUTOS": 6, "INCTOT": -20_000}
    table = read(extracts.write([{**one, **last} for one in rows]))
    expected = [
        [100, 1, 1, 0, 4, 1, 1, 140, 95, 1, 17, 9, 6],
        [16, 0, 0, 1, 1, 0, 0, 0, 0, 1, 17, 9, 6],
        [16, 0, 0, 0, 1, 0, 0, 0, 0, 1, 17, 9, 6],
    ]
    np.testing.assert_array_equal(table.features, expected)
    np.testing.assert_array_equal(table.response, [-20_000] * 3)
    assert table.leaks == ()


MISSING = [(one.name, code) for one in VARS for code in one.missing]


@pytest.mark.parametrize(("name", "code"), [*MISSING, *((one.name, "") for one in VARS[2:])])
def test_a_row_without_an_answer_is_left_out(name: str, code: int | str, extracts: Extracts, read: Any) -> None:
    rows = extracts.rows(6)
    rows[2][name] = code
    table = read(extracts.write(rows))
    assert (table.rows, table.dropped) == (5, 1)
    (leak,) = table.leaks
    assert leak.what == "rows_dropped"
    assert "1 of 6 rows" in leak.why


def test_codes_of_an_income_of_another_width_are_known_without_a_note(extracts: Extracts, read: Any) -> None:
    """INCEARN has 8 digits, and nothing in ipumspy says which of its values are none."""
    wide = Var("INCEARN", 8, values=(9_999_999, 25_000))
    extracts.variables = (*VARS[:-1], wide)
    rows = extracts.rows(9)
    rows[0]["INCEARN"], rows[1]["INCEARN"], rows[2]["INCEARN"] = 99_999_999, 99_999_998, 9_999_999
    table = read(extracts.write(rows))
    assert table.dropped == 2
    assert 9_999_999 in table.response


def test_another_name_of_a_variable_is_found(extracts: Extracts, read: Any) -> None:
    renamed = {"HRSWORK1": "HRSUSUAL1", "MIGYRS1": "MGYRS1", "DISABLED": "DISINDEP", "INCTOT": "INCWAGE"}
    extracts.variables = tuple(Var(renamed.get(v.name, v.name), v.width, v.labels, v.note, v.values, v.missing) for v in VARS)
    assert read(extracts.write(extracts.rows(5))).rows == 5


@pytest.mark.parametrize("suffix", [".dat", ".dat.gz", ".csv", ".csv.gz"])
def test_the_data_file_may_be_of_either_format(suffix: str, extracts: Extracts, read: Any) -> None:
    rows = extracts.rows(8)
    table = read(extracts.write(rows, suffix=suffix))
    np.testing.assert_array_equal(table.response, [row["INCTOT"] for row in rows])


def test_only_the_persons_of_the_country_count(extracts: Extracts, read: Any) -> None:
    rows = extracts.rows(10)
    for row in rows[:4]:
        row["COUNTRY"] = 76
    rows[0]["SEX"] = 9
    path = extracts.write(rows)
    assert (read(path).rows, read(path).dropped) == (6, 0)
    assert (read(path, "brazil").rows, read(path, "brazil").dropped) == (3, 1)


def test_a_sample_of_declared_size_is_drawn_from_the_complete_rows_and_leaks_nothing(extracts: Extracts, read: Any) -> None:
    rows = extracts.rows(60)
    for index, row in enumerate(rows):
        row["INCTOT"] = index
        row["SEX"] = 9 if index % 5 == 0 else row["SEX"]
    path = extracts.write(rows)
    small, large = (set(read(path, sample_n=n).response) for n in (10, 30))
    assert len(small) == 10
    assert small < large
    assert not any(income % 5 == 0 for income in large)
    assert read(path, sample_n=10).leaks == ()
    assert set(read(path, sample_n=10, seed=1).response) != small
    with pytest.raises(Refused, match=r"sample_n=49 needs more rows than the extract usa\.xml has without a missing value: 48"):
        read(path, sample_n=49)


def test_it_is_read_in_chunks_and_gives_the_same(
    extracts: Extracts, read: Any, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = extracts.rows(50)
    for index, row in enumerate(rows):
        row["INCTOT"] = index
    rows[33]["AGE"] = 999
    path = extracts.write(rows)
    whole = [read(path).response, read(path, sample_n=11).response]
    module = sys.modules[type(make("dataset", "census")).__module__].__dict__["read_extract"].__globals__
    monkeypatch.setitem(module, "CHUNK", 7)
    for before, after in zip(whole, [read(path).response, read(path, sample_n=11).response], strict=True):
        np.testing.assert_array_equal(before, after)
    rows[40]["AGE"] = "x"
    with pytest.raises(Refused, match=r"The variable AGE of the extract usa\.xml must hold numbers\. Row 41 of usa\.dat\.gz"):
        read(extracts.write(rows))


def test_an_extract_is_not_synthetic_and_says_whose_it_is(extracts: Extracts, make: Any) -> None:
    path = extracts.write(extracts.rows(5))
    own, stand_in = make("dataset", "census", extract=str(path)), make("dataset", "census")
    assert (own.synthetic, own.public, stand_in.synthetic, stand_in.public) == (False, False, True, True)
    assert "IPUMS" in own.licence
    assert "IPUMS International" in own.citation
    first = own.fingerprint()
    extracts.write(extracts.rows(5, seed=1))
    assert own.fingerprint() not in (first, stand_in.fingerprint())


def test_the_whole_design_sweeps(extracts: Extracts) -> None:
    import dpbench

    path = extracts.write(extracts.rows(300))
    options = {"dataset.extract": str(path), "dataset.attributes": 11, "splits.repeats": 2}
    frame = dpbench.sweep(options, dataset="census", mechanism=["fm", "no_privacy"], engine="serial", record=False)
    assert list(frame["state"]) == ["run", "run"]
    assert list(frame["dpbench.synthetic"]) == ["false", "false"]


def _without(name: str) -> Callable[[Extracts], Path]:
    def change(extracts: Extracts) -> Path:
        extracts.variables = tuple(one for one in extracts.variables if one.name != name)
        return extracts.write(extracts.rows(5))

    return change


def _no_data(extracts: Extracts) -> Path:
    path = extracts.write(extracts.rows(5))
    path.with_suffix(".dat.gz").unlink()
    return path


def _truncated(extracts: Extracts) -> Path:
    path = extracts.write(extracts.rows(500))
    data = path.with_suffix(".dat.gz")
    data.write_bytes(data.read_bytes()[:2_000])
    return path


def _not_zipped(extracts: Extracts) -> Path:
    path = extracts.write(extracts.rows(5))
    path.with_suffix(".dat.gz").write_text(SECRET)
    return path


def _texts(extracts: Extracts) -> Path:
    rows = extracts.rows(5)
    rows[3]["SERIAL"], rows[3]["AGE"] = "", SECRET[:3]
    return extracts.write(rows)


def _hierarchical(extracts: Extracts) -> Path:
    extracts.structure = "hierarchical"
    return extracts.write(extracts.rows(5))


def _incomplete(extracts: Extracts) -> Path:
    path = extracts.write(extracts.rows(5))
    path.write_text("<codeBook><stdyDscr/></codeBook>")
    return path


def _no_xml(extracts: Extracts) -> Path:
    path = extracts.write(extracts.rows(5))
    path.write_text(SECRET)
    return path


def _brazil(extracts: Extracts) -> Path:
    return extracts.write([{**row, "COUNTRY": 76} for row in extracts.rows(5)])


def _nobody(extracts: Extracts) -> Path:
    return extracts.write([{**row, "SEX": 9} for row in extracts.rows(5)])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda extracts: extracts.folder / "no.xml", "There is no file"),
        (_no_data, "The data file of the extract usa.xml must lie beside it, as usa.dat.gz or .dat. There is none."),
        (_truncated, "The data file usa.dat.gz of the extract usa.xml cannot be read: it is truncated."),
        (_not_zipped, "The data file usa.dat.gz of the extract usa.xml cannot be read: it is damaged"),
        (_texts, "The variable AGE of the extract usa.xml must hold numbers. Row 4 of usa.dat.gz holds something else"),
        (_hierarchical, "The extract usa.xml must be rectangular, by persons. Got hierarchical instead."),
        (_incomplete, "The file usa.xml must be the XML codebook (DDI) of an IPUMS extract."),
        (_no_xml, "The file usa.xml must be the XML codebook (DDI) of an IPUMS extract."),
        (_without("INCTOT"), "The extract usa.xml must hold INCTOT or INCWAGE or INCEARN (income)."),
        (_brazil, "The extract usa.xml holds no row of country 840."),
        (_nobody, "None of the 5 rows of the extract usa.xml is complete. Missing values: gender 5."),
    ],
)
def test_a_wrong_extract_is_one_sentence(change: Any, words: str, extracts: Extracts, read: Any) -> None:
    path = change(extracts)
    with pytest.raises(Refused) as refusal:
        read(path)
    assert words in str(refusal.value)
    assert SECRET[:3] not in str(refusal.value)
    assert refusal.value.__cause__ is None
    assert refusal.value.__suppress_context__ or refusal.value.__context__ is None


def test_heads_of_household_have_no_extract(make: Any) -> None:
    with pytest.raises(Refused, match=r"dataset\.variant must be 'persons'"):
        make("dataset", "census", extract="usa.xml", variant="heads")


@pytest.mark.skipif(not FIXTURE.is_file(), reason="the shared fixture is not on this machine")
def test_the_shared_fixture_has_the_rows_it_should(read: Any) -> None:
    expected = json.loads((FIXTURE.parent / "expected.json").read_text())
    table = read(FIXTURE, "brazil")
    assert table.rows == expected["clean_rows"]
    assert table.dropped == expected["rows_with_missing_code"]


KEY = "0123456789abcdefSECRETKEY"


@dataclass
class Service:
    """A small copy of IPUMS's service: what it makes, what it was asked, and how it misbehaves."""

    files: dict[str, bytes] = field(default_factory=dict)
    absent: tuple[str, ...] = ("HRSWORK1", "DISINDEP")
    submitted: list[dict[str, Any]] = field(default_factory=list)
    polls: int = 0
    ready_after: int = 1
    status: str = "completed"
    lie: bool = False
    down: bool = False
    echo: bool = False
    """Whether it refuses every request, and repeats the key in its answer."""


@pytest.fixture
def service(extracts: Extracts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Service]:
    there = Service()
    made = extracts.folder / "made"
    made.mkdir()
    Extracts(made).write(Extracts(made).rows(12), "ipumsi_00007")
    there.files = {name: (made / name).read_bytes() for name in ("ipumsi_00007.xml", "ipumsi_00007.dat.gz")}

    class Handler(BaseHTTPRequestHandler):
        def answer(self, status: int, content: Any) -> None:
            body = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def allowed(self) -> bool:
            if there.down:
                self.answer(502, b"<html>Bad gateway</html>")
                return False
            if self.headers["Authorization"] != KEY:
                self.answer(401, {"error": f"Invalid key {self.headers['Authorization']}"})
                return False
            return True

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not self.allowed():
                return
            if there.echo:
                self.answer(400, {"detail": f"No extract for {self.headers['Authorization']}"})
                return
            wrong = [name for name in asked["variables"] if name in there.absent]
            if wrong:
                self.answer(400, {"detail": [f"{name}: not available in any of the samples" for name in wrong]})
                return
            there.submitted.append(asked)
            self.answer(200, {"number": 7, "status": "queued"})

        def do_GET(self) -> None:
            if not self.allowed():
                return
            path = urllib.parse.urlsplit(self.path).path
            if path.startswith("/files/"):
                content = there.files.get(path.rpartition("/")[2])
                self.answer(404 if content is None else 200, content or {"detail": "no"})
            elif path != "/extracts/7":
                self.answer(404, {"detail": "no"})
            else:
                there.polls += 1
                ready = there.polls >= there.ready_after
                self.answer(200, {"number": 7, "status": there.status if ready else "started", "downloadLinks": self.links()})

        def links(self) -> dict[str, Any]:
            kinds = {"data": "ipumsi_00007.dat.gz", "ddiCodebook": "ipumsi_00007.xml"}
            digest = hashlib.sha256(b"another" if there.lie else there.files["ipumsi_00007.dat.gz"]).hexdigest()
            base = f"http://127.0.0.1:{self.server.server_address[1]}/files"
            links: dict[str, Any] = {kind: {"url": f"{base}/{name}"} for kind, name in kinds.items()}
            links["data"]["sha256"] = digest
            return links

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    monkeypatch.setenv("DPBENCH_IPUMS_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("IPUMS_API_KEY", KEY)
    yield there
    server.shutdown()
    server.server_close()
    thread.join()


FETCH = ["data", "fetch", "census"]


def said(capsys: Any, code: int, *words: str, arguments: list[str] = FETCH) -> str:
    capsys.readouterr()
    assert main(arguments) == code
    out, err = capsys.readouterr()
    key = os.environ["IPUMS_API_KEY"]
    assert not key or key not in out + err
    assert "Traceback" not in err
    if code:
        assert err.count("\n") == 1
    for word in words:
        assert word in out + err
    return str(out)


def kept(folder: Path) -> str:
    """Everything in the cache folder, as text."""
    return "".join(path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file())


def test_an_extract_is_submitted_downloaded_and_used(service: Service, capsys: Any, tmp_path: Path, read: Any) -> None:
    out = said(capsys, 0, "Submitted extract 7 of sample us2000a", "Downloading extract 7", "dataset=census dataset.extract=")
    path = Path(out.strip().rpartition("dataset.extract=")[2])
    assert read(path).rows == 12
    (asked,) = service.submitted
    assert list(asked["samples"]) == ["us2000a"]
    assert asked["dataStructure"] == {"rectangular": {"on": "P"}}
    assert {"COUNTRY", "AGE", "HRSUSUAL1", "DISABLED", "INCTOT"} <= set(asked["variables"])
    assert not {"HRSWORK1", "DISINDEP"} & set(asked["variables"])
    assert KEY not in kept(tmp_path / "cache")
    said(capsys, 0, "dataset.extract=")
    assert len(service.submitted) == 1, "what is there is not asked for again"


def test_brazil_has_its_own_sample(service: Service, capsys: Any) -> None:
    said(capsys, 0, "sample br2000a", "dataset=brazil", arguments=["data", "fetch", "brazil"])


def test_an_interrupted_fetch_goes_on_with_the_same_extract(
    service: Service, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ipumspy

    with monkeypatch.context() as patch:
        patch.setattr(ipumspy.IpumsApiClient, "wait_for_extract", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        said(capsys, 130, "Interrupted.")
    said(capsys, 0, "Going on with extract 7")
    assert len(service.submitted) == 1


def test_a_download_that_breaks_off_leaves_nothing_half(service: Service, capsys: Any, tmp_path: Path) -> None:
    whole = service.files.pop("ipumsi_00007.xml")
    said(capsys, 2, "answers 404")
    assert [path.name for path in (tmp_path / "cache").rglob("ipumsi*")] == []
    service.files["ipumsi_00007.xml"] = whole
    said(capsys, 0, "Going on with extract 7")


def test_a_damaged_download_is_refused(service: Service, capsys: Any, tmp_path: Path) -> None:
    service.lie = True
    said(capsys, 2, "The download of ipumsi_00007.dat.gz is damaged: its sha256 is not the one that IPUMS gives.")
    assert [path.name for path in (tmp_path / "cache").rglob("ipumsi*")] == []


def test_a_changed_extract_in_the_cache_is_refused(service: Service, capsys: Any, tmp_path: Path) -> None:
    said(capsys, 0)
    (data,) = (tmp_path / "cache").rglob("*.dat.gz")
    data.write_bytes(b"other")
    said(capsys, 2, "its sha256 has changed")


def test_a_failed_extract_is_submitted_anew_next_time(service: Service, capsys: Any) -> None:
    service.status = "failed"
    said(capsys, 1, "IPUMS could not make extract 7")
    service.status = "completed"
    said(capsys, 0, "Submitted extract 7")
    assert len(service.submitted) == 2


def test_an_extract_that_takes_too_long_is_waited_for_later(service: Service, capsys: Any, make: Any) -> None:
    service.ready_after = 1_000
    fetch = sys.modules[type(make("dataset", "census")).__module__].__package__ + "._ipums_api"
    with pytest.raises(Unfinished, match=r"Extract 7 is not made yet\. The same command goes on waiting"):
        importlib.import_module(fetch).fetch("us2000a", "census", lambda _: None, first_wait=0.01, patience=0.02)
    service.ready_after = 1
    said(capsys, 0, "Going on with extract 7")


def test_a_wrong_key_is_one_sentence_without_the_key(service: Service, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPUMS_API_KEY", "another-KEY-of-mine")
    said(capsys, 2, "IPUMS does not accept the key in IPUMS_API_KEY")
    monkeypatch.setenv("IPUMS_API_KEY", "")
    said(capsys, 2, "The environment variable IPUMS_API_KEY must hold your IPUMS key")


def test_a_sample_without_an_attribute_is_refused(service: Service, capsys: Any) -> None:
    service.absent = ("EDATTAIN",)
    said(capsys, 2, "The sample us2000a must have EDATTAIN (education). IPUMS says it has not.")


def test_an_answer_that_repeats_the_key_is_told_without_it(service: Service, capsys: Any) -> None:
    service.echo = True
    said(capsys, 2, "IPUMS refuses the extract: No extract for ***")


def test_a_service_that_is_down_or_away_is_one_sentence(service: Service, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    service.down = True
    said(capsys, 2, "answers something that is not IPUMS's")
    monkeypatch.setenv("DPBENCH_IPUMS_URL", "http://127.0.0.1:9")
    said(capsys, 2, "is there a network?")
    monkeypatch.setenv("DPBENCH_IPUMS_URL", "http://ipums.example.org")
    said(capsys, 2, "The address of IPUMS must begin with https://")
