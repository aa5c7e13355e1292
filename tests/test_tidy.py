"""The source keeps its shape: small files and functions, pure decisions, error codes made in handlers only.

Each list of exceptions is exact: who mends one takes it off the list, and nothing is added without a reason that would
convince a reader.
"""

import ast
import gc
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "barnabas"
GENERATED = SOURCE / "wire" / "messages"

FILE_LINES_MAX = 600
FILE_LINES_USUAL = 400
LONG_FILES = {"coordinator/runtime.py", "log/partition_log.py", "wire/errors.py"}
FUNCTION_LINES_MAX = 60
LONG_FUNCTIONS = {
    "cli/consume.py: consume",
    "cli/produce.py: produce",
    "coordinator/group/classic/join.py: _replace_static",
    "log/recovery.py: load_log",
    "pipeline/run.py: run",
    "records/record.py: build_batch",
}

IMPURE_CALLS = {"open", "input", "uuid.uuid1", "uuid.uuid4", "datetime.datetime.now", "datetime.datetime.utcnow"}
"""Of what is pure otherwise. Modules that are not are named in the contract of import-linter."""

BELOW_HANDLERS = (
    *("model", "env", "portable", "records", "quotas", "raft", "log", "metadata"),
    *("controller", "coordinator", "replication", "share_partitions", "node"),
)
PATCHES = {
    "cli/kafka/options.py: setattr",  # on the namespace that argparse fills
    "spark/disconnects.py: sys.excepthook",
    "spark/readable.py: sys.excepthook",
    "testing/faulty_serve.py: setattr",  # a broker that is broken on purpose
}


WATCHED = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.Import, ast.ImportFrom, ast.Call),
    *(ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete),
)


@cache
def sources() -> dict[str, bytes]:
    """By path within the source."""
    paths = (path for path in SOURCE.rglob("*.py") if path.parent != GENERATED)
    return {str(path.relative_to(SOURCE)): path.read_bytes() for path in paths}


@cache
def modules() -> dict[str, list[ast.AST]]:
    """The parts of each module that a rule looks at."""
    gc.disable()  # a million parts, and no garbage among them: it would look at all of them again and again
    try:
        return {name: watched(text) for name, text in sources().items()}
    finally:
        gc.enable()


def watched(text: bytes) -> list[ast.AST]:
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, WATCHED)]


def within(rooms: tuple[str, ...]) -> Iterator[tuple[str, list[ast.AST]]]:
    for name, nodes in modules().items():
        if name.startswith(tuple(f"{room}/" for room in rooms)):
            yield name, nodes


def dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def imported(nodes: list[ast.AST]) -> Iterator[tuple[str, list[str]]]:
    """Modules, and what they are called here."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for each in node.names:
                yield each.name, [each.asname or each.name.partition(".")[0]]
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, [each.asname or each.name for each in node.names]


def test_files_are_small() -> None:
    lengths = {name: text.count(b"\n") for name, text in sources().items()}
    assert {name for name, lines in lengths.items() if lines > FILE_LINES_USUAL} == LONG_FILES
    assert max(lengths.values()) <= FILE_LINES_MAX


def test_functions_are_small() -> None:
    long = {
        f"{name}: {node.name}"
        for name, nodes in modules().items()
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= FUNCTION_LINES_MAX
    }
    assert long == LONG_FUNCTIONS


def test_bytes_and_decisions_are_pure() -> None:
    """The same arguments give the same result: no event loop, clock, randomness or I/O."""
    contract = purity_contract()
    rooms = tuple(name.removeprefix("barnabas.").replace(".", "/") for name in contract["source_modules"])
    uses = set()
    for name, nodes in within(rooms):
        for module, _ in imported(nodes):
            if module.partition(".")[0] in contract["forbidden_modules"]:
                uses.add(f"{name}: {module}")
        for node in nodes:
            if isinstance(node, ast.Call) and dotted(node.func) in IMPURE_CALLS:
                uses.add(f"{name}: {dotted(node.func)}")
    assert uses == set()


def test_every_room_of_decisions_is_held_to_that() -> None:
    decisions = {
        name.rpartition("/")[0] for name in sources() if name.rpartition("/")[0].endswith(("/core", "/decisions"))
    }
    bytes_and_facts = {"model", "wire", "records", "quotas", "metadata"}
    shards = {"coordinator/group", "coordinator/share", "coordinator/txn"}
    contract = purity_contract()
    named = {name.removeprefix("barnabas.").replace(".", "/") for name in contract["source_modules"]}
    assert decisions | bytes_and_facts | shards <= named
    assert {"asyncio", "os", "random", "secrets", "socket", "subprocess", "threading", "time"} <= set(
        contract["forbidden_modules"]
    )


def purity_contract() -> dict[str, list[str]]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (contract,) = (each for each in contracts if each["name"].startswith("Bytes and decisions"))
    found: dict[str, list[str]] = contract
    return found


def test_error_codes_are_made_in_handlers() -> None:
    """Below them an error is raised or returned as what it is; the code is how it is told to clients."""
    used = {
        name
        for name, nodes in within(BELOW_HANDLERS)
        for node in nodes
        if isinstance(node, ast.Name | ast.alias)
        and "ErrorCode" in (getattr(node, "id", ""), getattr(node, "name", ""))
    }
    assert used == set()


def test_kio_is_needed_to_develop_only() -> None:
    users = {
        str(path.relative_to(ROOT))
        for place in ("src", "bench", "demo", "interop")
        for path in (ROOT / place).rglob("*.py")
        if b"kio" in (text := path.read_bytes())
        for module, _ in imported(watched(text))
        if module.partition(".")[0] == "kio"
    }
    assert users == set()


def test_nothing_is_patched() -> None:
    """What a class or another module has stays as it was written: no attribute of an imported name is assigned."""
    patches = set()
    for name, nodes in modules().items():
        names = {each for _, called in imported(nodes) for each in called}
        for node in nodes:
            if isinstance(node, ast.Call) and dotted(node.func) == "setattr":
                patches.add(f"{name}: setattr")
            if not isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete):
                continue
            targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
            for target in targets:
                if isinstance(target, ast.Attribute) and dotted(target.value).partition(".")[0] in names:
                    patches.add(f"{name}: {dotted(target)}")
    assert patches == PATCHES
