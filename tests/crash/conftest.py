"""Crash tests use the request helpers of the node tests."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "node"))
