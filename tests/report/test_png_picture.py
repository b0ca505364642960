"""A PNG file as text: its size on a page, and as a picture that takes the width there is."""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dpbench.report.png_picture import MIN_NOTE_WIDTH, read_png


def png(width: int, height: int) -> bytes:
    """A grey picture of this size, as a file."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = zlib.compress((b"\0" + b"\x80" * width) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def test_a_picture_has_the_file_s_bytes_and_its_size_on_a_page(tmp_path: Path) -> None:
    (tmp_path / "figure.png").write_bytes(png(500, 300))
    picture = read_png(tmp_path / "figure.png")
    assert base64.b64decode(picture.data) == png(500, 300)
    assert (picture.width, picture.height) == (400, 240)


@pytest.mark.parametrize(("width", "drawn"), [(2000, 1600), (500, MIN_NOTE_WIDTH)])
def test_an_svg_has_no_size_of_its_own_and_a_narrow_figure_stays_small(tmp_path: Path, width: int, drawn: int) -> None:
    (tmp_path / "figure.png").write_bytes(png(width, 300))
    root = ElementTree.fromstring(read_png(tmp_path / "figure.png").svg())
    assert root.attrib == {"viewBox": f"0 0 {drawn} 240"}
    (image,) = root
    assert image.attrib["width"] == str(round(width * 0.8))
    assert base64.b64decode(image.attrib["href"].partition(",")[2]) == png(width, 300)
