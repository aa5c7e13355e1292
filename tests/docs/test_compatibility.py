"""docs/compatibility.md says what the code does, and its list of Kafka's APIs is complete."""

import importlib.util
import pkgutil
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from kio.schema.index import api_key_map

from barnabas.metadata.configs import all_broker_configs
from barnabas.wire.api_table import APIS

ROOT = Path(__file__).resolve().parents[2]

# Kafka itself does not serve this version yet: two-phase commit, KIP-939.
UNSTABLE = {"InitProducerId": 6}


def load_generator() -> ModuleType:
    path = ROOT / "tools" / "generate_compatibility.py"
    spec = importlib.util.spec_from_file_location("generate_compatibility", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    return load_generator()


def test_the_page_is_what_the_generator_makes(generator: ModuleType) -> None:
    page = generator.PAGE.read_text()
    assert generator.generate(page) == page, "docs/compatibility.md is stale: run `make compatibility`"


def test_a_page_without_a_marker_is_an_error(generator: ModuleType) -> None:
    with pytest.raises(ValueError, match="has no markers for 'apis'"):
        generator.generate("# Compatibility\n")


def test_kafkas_apis_are_all_there_with_their_versions(generator: ModuleType) -> None:
    assert len(generator.KAFKA_APIS) == 77
    for api in generator.KAFKA_APIS:
        module = re.sub(r"(?<!^)([A-Z])", r"_\1", api.name).lower()
        assert api_key_map[api.key] == module
        schema = importlib.import_module(f"kio.schema.{module}")
        versions = {int(found.name[1:]) for found in pkgutil.iter_modules(schema.__path__) if found.name[0] == "v"}
        versions -= {UNSTABLE.get(api.name, -1)}
        assert (api.version_min, api.version_max) == (min(versions), max(versions)), api.name


def test_everything_we_serve_is_on_the_page(generator: ModuleType) -> None:
    page = generator.PAGE.read_text()
    known = {api.key: api for api in generator.KAFKA_APIS}
    for api in APIS:
        row = next(line for line in page.splitlines() if line.startswith(f"| {api.key} | {known[api.key].name} |"))
        assert ("| refuses |" if api.key in generator.REFUSES else "| serves") in row


def test_what_is_not_served_says_why(generator: ModuleType) -> None:
    served = {api.key for api in APIS}
    for api in generator.KAFKA_APIS:
        assert api.key in served or api.key in generator.WHY, api.name


def test_every_config_is_on_the_page_once(generator: ModuleType) -> None:
    tables = "\n".join(
        "\n".join(lines)
        for lines in (
            generator.acting_broker_configs(),
            generator.refused_broker_configs(),
            generator.accepted_broker_configs(),
        )
    )
    for name in all_broker_configs():
        assert tables.count(f"`{name}`") == 1, name
