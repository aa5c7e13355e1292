"""Tests of crashes speak to the broker as those of the node do."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "node"))
