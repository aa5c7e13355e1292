"""`fuzz` lies beside `tests` and is not installed: found whether pytest runs as a module or as a command."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
