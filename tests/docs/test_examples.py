"""The Python in the documentation runs as written, page by page, each with its own broker."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.testing import Broker

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    "README.md",
    "docs/getting-started.md",
    "docs/configuration.md",
    "docs/delivery-semantics.md",
    "docs/testing.md",
    "docs/crash-testing.md",
)

_PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.mark.clients
@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page: str, broker: Broker) -> None:
    blocks = _PYTHON.findall((ROOT / page).read_text())
    assert blocks
    fixtures = {"barnabas_broker": broker, "barnabas_topic": "a-topic-of-its-own"}
    for block in blocks:
        if "barnabas.spark" in block:  # tests/spark/pages runs these, where a Spark is
            continue
        names: dict[str, object] = {"__name__": "example"}
        exec(block.replace("localhost:9092", broker.bootstrap_servers), names)
        for name, value in names.items():
            if name.startswith("test_") and inspect.isfunction(value):
                value(**{wanted: fixtures[wanted] for wanted in inspect.signature(value).parameters})
