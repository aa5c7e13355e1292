"""The Python in the documentation runs as written, page by page, each with its own broker."""

import inspect
from collections.abc import Iterator

import pytest
from followed_pages import Followed

from barnabas.testing import Broker

PAGES = (
    "README.md",
    "docs/getting-started.md",
    "docs/configuration.md",
    "docs/delivery-semantics.md",
    "docs/testing.md",
    "docs/crash-testing.md",
)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.mark.clients
@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page: str, broker: Broker, followed: Followed) -> None:
    fixtures = {"barnabas_broker": broker, "barnabas_topic": "a-topic-of-its-own"}
    for block in followed(page):
        names: dict[str, object] = {"__name__": "example"}
        exec(block.text.replace("localhost:9092", broker.bootstrap_servers), names)
        for name, value in names.items():
            if name.startswith("test_") and inspect.isfunction(value):
                value(**{wanted: fixtures[wanted] for wanted in inspect.signature(value).parameters})
