"""`tools/generate_messages.py`, which is not installed."""

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


@cache
def load_generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_messages", ROOT / "tools" / "generate_messages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
