"""A PNG file as text, for pages that hold their pictures themselves."""

import base64
import struct
from dataclasses import dataclass
from pathlib import Path

SCREEN_SCALE = 0.8
"""Width of a figure on a page in pixels of its file: below 1, so that it is sharp on a fine screen."""
MIN_NOTE_WIDTH = 1000
"""A picture for a note is at least this wide, so that a narrow figure does not become huge in a wide window."""


@dataclass(frozen=True)
class PngPicture:
    """The data of a PNG file, in base64, with its width and height on a page."""

    data: str
    width: int
    height: int

    def svg(self) -> str:
        """Return a picture that takes the width of what it is in.

        MLflow removes the attributes of a picture in a note, and shows a PNG in its own size, wider than most windows. An SVG
        without a size of its own takes the width that there is.
        """
        box = f"0 0 {max(self.width, MIN_NOTE_WIDTH)} {self.height}"
        image = f'<image width="{self.width}" height="{self.height}" href="data:image/png;base64,{self.data}"/>'
        return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}">{image}</svg>\n'


def read_png(path: Path) -> PngPicture:
    """Return the picture in a file."""
    data = path.read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    return PngPicture(base64.b64encode(data).decode("ascii"), round(width * SCREEN_SCALE), round(height * SCREEN_SCALE))
