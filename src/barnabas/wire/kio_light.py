"""Imports kio without hypothesis.

Where hypothesis is installed, kio registers strategies with it on import: 150 ms and 150 MB that a broker beside a test
suite would pay for nothing. Where hypothesis is already loaded (a property test), nothing is hidden from kio.
"""

import importlib
import sys

if "hypothesis" not in sys.modules and "kio.static.primitive" not in sys.modules:
    sys.modules["hypothesis"] = None  # type: ignore[assignment]  # the documented way to make an import fail
    try:
        importlib.import_module("kio.static.primitive")
    finally:
        del sys.modules["hypothesis"]
