"""A SPARK_HOME that uses the installed Python package pyspark.

Each Python process that Spark starts looks for modules in `python/lib/pyspark.zip` of SPARK_HOME first. These are the
modules of the package pyspark as sources in an archive, so every process compiles them again: that is two thirds of the
CPU of its start, and a pipeline of four flows starts two dozen processes. In this home the archives are empty, so
Python uses the package, which was compiled when it was installed. Everything else is linked.
"""

import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Final

_ARCHIVES: Final = Path("python", "lib")
_TRY: Final = "jars"
"""A link that shows whether a home belongs to the installed package."""


def spark_home() -> Path:
    """In the environment of pyspark; the package itself if that is not writable."""
    import pyspark

    package = Path(pyspark.__file__).parent
    home = Path(sys.prefix) / "share" / "barnabas" / f"spark-{pyspark.__version__}-home"
    try:
        if not _is_of(home, package):
            _make(home, package)
    except OSError:
        return package
    return home


def _is_of(home: Path, package: Path) -> bool:
    return (home / _TRY).resolve() == (package / _TRY).resolve()


def _make(home: Path, package: Path) -> None:
    """Atomically: another process may create the same one, or use it already."""
    home.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f"{home.name}-", dir=home.parent))
    try:
        unfinished.chmod(0o755)
        for name in {"conf", *(entry.name for entry in package.iterdir())} - {"python", "__pycache__"}:
            (unfinished / name).symlink_to(package / name)
        (unfinished / _ARCHIVES).mkdir(parents=True)
        for archive in (package / _ARCHIVES).glob("*.zip"):
            zipfile.ZipFile(unfinished / _ARCHIVES / archive.name, "w").close()
        if home.exists() and not _is_of(home, package):  # that of a package which was moved or removed
            shutil.rmtree(home)
        os.rename(unfinished, home)
    except OSError:
        shutil.rmtree(unfinished, ignore_errors=True)
        if not _is_of(home, package):
            raise
