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
            give_name(file.name, path, overwrite)
        finally:
            Path(file.name).unlink(missing_ok=True)


def give_name(written: str, path: Path, overwrite: bool) -> None:
    """Give a file that is written its name in one step: a kill before it leaves no file of this name, not even an empty one."""
    if not overwrite:
        try:
            os.link(written, path)  # unlike a rename, it fails if the name is taken
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            if path.exists():
                raise FileExistsError(f"The file {str(path)!r} exists.") from None
        else:
            return
    os.replace(written, path)
