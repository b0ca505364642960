"""Write a file completely or not at all."""

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, content: bytes, overwrite: bool = False) -> None:
    """Write a file that no reader ever sees half of. A file that exists is replaced only with ``overwrite``."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            os.chmod(file.name, 0o644)
            if not overwrite:
                path.touch(exist_ok=False)
            os.replace(file.name, path)
        finally:
            Path(file.name).unlink(missing_ok=True)
