"""`fuzz` is next to `tests` and not installed: makes it importable, however pytest is run."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
