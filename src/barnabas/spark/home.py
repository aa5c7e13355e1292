"""A home of Spark whose Python is that of the environment.

Each Python process that Spark starts looks for modules in `python/lib/pyspark.zip` of Spark's home first. These are
the modules of the package pyspark once more, as sources in an archive: whatever is imported from there is compiled anew
by every process: one that needed a second of a core to start needs a third of one without, and a pipeline of four flows
starts two dozen. In this home the archives are empty, so Python goes on to the package, which was compiled when it was
installed. All else is linked.
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
"""A link by which one sees whether a home is of the package that is installed now."""


def spark_home() -> Path:
    """In the environment that pyspark is part of; the package itself, if nothing can be kept there."""
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
    """In one step: another process may make the same one, or use it already."""
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
