"""Writes `src/barnabas/wire/messages/`: one shape per API, the union of its fields over all versions kio knows.

kio has a class per API *and* version. Handlers should not care, so each API gets one class per entity here: a field
that a version lacks takes the default that Kafka's schema gives it. Run it after an upgrade of kio or an addition to
the API table: `make messages`. A test fails when the result differs from what is committed.
"""

import dataclasses
import datetime
import importlib
import pkgutil
import subprocess
import sys
import types
import typing
import uuid
from pathlib import Path

from kio.schema.errors import ErrorCode
from kio.static.primitive import PhantomStr

from barnabas.wire.api_table import APIS
from barnabas.wire.message import Message

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "src" / "barnabas" / "wire" / "messages"
ROOT_NAMES = {"request": "Request", "response": "Response"}


def versions_of(api_name: str) -> list[int]:
    package = importlib.import_module(f"kio.schema.{api_name}")
    return sorted(int(module.name[1:]) for module in pkgutil.iter_modules(package.__path__))


def plain_type(annotation: object) -> str:
    """The type a reader of our code should see: kio's phantom types are int, str and bytes at run time."""
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        inner = [plain_type(argument) for argument in typing.get_args(annotation) if argument is not type(None)]
        return f"{inner[0]} | None"
    if origin is tuple:
        return f"tuple[{plain_type(typing.get_args(annotation)[0])}, ...]"
    if not isinstance(annotation, type):
        raise TypeError(f"unexpected annotation {annotation!r}")
    if dataclasses.is_dataclass(annotation):
        return annotation.__name__
    if annotation is ErrorCode:
        return "ErrorCode"
    if annotation is bool:
        return "bool"
    for base, name in (
        (PhantomStr, "str"),
        (str, "str"),
        (bytes, "bytes"),
        (datetime.timedelta, "datetime.timedelta"),
        (datetime.datetime, "datetime.datetime"),
        (uuid.UUID, "uuid.UUID"),
        (float, "float"),
        (int, "int"),
    ):
        if issubclass(annotation, base):
            return name
    raise TypeError(f"unexpected type {annotation!r}")


def default_expression(field: "dataclasses.Field[object]", annotation: str) -> str | None:
    """The schema's default, else the zero of the type; None where an entity has no zero."""
    if field.default is not dataclasses.MISSING:
        return literal(field.default)
    if annotation.endswith("| None"):
        return "None"
    if annotation.startswith("tuple["):
        return "()"
    return {
        "int": "0",
        "float": "0.0",
        "str": '""',
        "bytes": 'b""',
        "bool": "False",
        "ErrorCode": "ErrorCode.none",
        "datetime.timedelta": "datetime.timedelta()",
        "datetime.datetime": "datetime.datetime.fromtimestamp(0, datetime.UTC)",
    }.get(annotation)


def literal(value: object) -> str:
    if isinstance(value, ErrorCode):
        return f"ErrorCode.{value.name}"
    if isinstance(value, datetime.timedelta):
        milliseconds = value // datetime.timedelta(milliseconds=1)
        return f"datetime.timedelta(milliseconds={milliseconds})"
    if isinstance(value, bool) or value is None or value == ():
        return repr(value)
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, str):
        return '"' + value + '"'
    if isinstance(value, bytes):
        return repr(bytes(value))
    if isinstance(value, uuid.UUID):
        return f'uuid.UUID("{value}")'
    if dataclasses.is_dataclass(value) or isinstance(value, Message):  # the codec exchanges one for the other
        return f"{type(value).__name__}()"
    raise TypeError(f"unexpected default {value!r}")


class Entity:
    """One entity's fields, merged over versions: the newest version that has a field says what it is."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.fields: dict[str, tuple[str, str | None]] = {}

    def merge(self, entity: type) -> None:
        hints = typing.get_type_hints(entity)
        names = [field.name for field in dataclasses.fields(entity)]
        for field in dataclasses.fields(entity):
            annotation = plain_type(hints[field.name])
            known = self.fields.get(field.name)
            if known and known[0].endswith("| None") and not annotation.endswith("| None"):
                annotation = f"{annotation} | None"  # nullable in some version: nullable for the handler
            default = default_expression(field, annotation)
            if known and default == "None" and known[1] != "None":
                default = known[1]  # not nullable in every version: the default must fit them all
            self.fields[field.name] = (annotation, default)
        ordered = {name: self.fields[name] for name in names}
        self.fields = ordered | {name: value for name, value in self.fields.items() if name not in ordered}

    def source(self) -> str:
        lines = [f"class {self.name}(Message):"]
        if not self.fields:
            return "\n".join([*lines, "    __slots__ = ()"])
        slots = ", ".join(f'"{name}"' for name in self.fields)
        parameters = ", ".join(
            f"{name}: {annotation}" + (f" = {default}" if default is not None else "")
            for name, (annotation, default) in self.fields.items()
        )
        lines += [f"    __slots__ = ({slots}{',' if len(self.fields) == 1 else ''})", ""]
        lines += [f"    def __init__(self, *, {parameters}) -> None:"]
        lines += [f"        self.{name} = {name}" for name in self.fields]
        return "\n".join(lines)


def module_source(api_name: str) -> str:
    entities: dict[str, Entity] = {}
    for version in versions_of(api_name):
        for kind in ROOT_NAMES:
            module = importlib.import_module(f"kio.schema.{api_name}.v{version}.{kind}")
            for value in vars(module).values():
                if dataclasses.is_dataclass(value) and getattr(value, "__module__", "") == module.__name__:
                    entities.setdefault(value.__name__, Entity(value.__name__)).merge(typing.cast(type, value))
    body = "\n\n\n".join(entity.source() for entity in in_dependency_order(entities))
    imports = []
    if "datetime." in body:
        imports.append("import datetime")
    if "uuid.UUID" in body:
        imports.append("import uuid")
    imports.append("")
    if "ErrorCode" in body:
        imports.append("from barnabas.wire.errors import ErrorCode")
    imports.append("from barnabas.wire.message import Message")
    heading = '"""Generated by tools/generate_messages.py: do not edit."""\n\n' + "\n".join(imports).lstrip()
    return formatted(f"{heading}\n\n\n{body}\n")


def formatted(source: str) -> str:
    ruff = [sys.executable, "-m", "ruff", "format", "--config", str(ROOT / "pyproject.toml"), "-"]
    return subprocess.run(ruff, input=source, capture_output=True, text=True, check=True).stdout


def in_dependency_order(entities: dict[str, Entity]) -> list[Entity]:
    """An entity stands after those its fields name, so that annotations and defaults resolve."""
    done: dict[str, Entity] = {}

    def visit(entity: Entity) -> None:
        for annotation, _ in entity.fields.values():
            inner = annotation.removesuffix(" | None").removeprefix("tuple[").removesuffix(", ...]")
            if inner in entities and inner not in done and inner != entity.name:
                visit(entities[inner])
        done[entity.name] = entity

    for entity in entities.values():
        visit(entity)
    return list(done.values())


def generate() -> dict[str, str]:
    return {f"{api.name}.py": module_source(api.name) for api in APIS}


def main() -> None:
    sources = generate()
    TARGET.mkdir(parents=True, exist_ok=True)
    (TARGET / "__init__.py").write_text(
        '"""One shape per API, whatever its version. Generated by tools/generate_messages.py."""\n'
    )
    for stale in TARGET.glob("*.py"):
        if stale.name not in sources and stale.name != "__init__.py":
            stale.unlink()
    for name, source in sources.items():
        (TARGET / name).write_text(source)
    print(f"{len(sources)} message modules written to {TARGET}", file=sys.stderr)


if __name__ == "__main__":
    main()
