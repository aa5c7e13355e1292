"""How messages and stored records are laid out in bytes: each is declared once, with the fields of all its versions.

    class StoredOffset(Message, versions=(0, 4), flexible_since=4):
        offset: int = int64()
        leader_epoch: int = since(3, int32(-1))
        expire_timestamp: int = within(1, 1, int64(-1))
        topics: tuple[StoredTopic, ...] = array(StoredTopic)

Such a class is an immutable value. `wire.codec` reads and writes it in any of its versions: a field that a version does
not have keeps its default when it is read, and is left out when it is written. Kafka's own schemas say the same with
`versions`, `nullableVersions` and `tag`; `wire/messages` is generated from them. An entity within a message has the
versions of the whole.
"""

import uuid
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, TypeVar, dataclass_transform

from msgspec import Struct, StructMeta
from msgspec.structs import replace

M = TypeVar("M", bound="Message")

NEVER: Final = 2**15
"""A version that does not come."""
ARRAY: Final = "array"
ENTITY: Final = "entity"


class Field(NamedTuple):
    kind: str
    """A primitive type, ARRAY or ENTITY."""
    default: Any
    element: "Field | None" = None
    """Of an array."""
    entity: "type[Message] | None" = None
    nullable_since: int = NEVER
    tag: int | None = None
    first: int = 0
    last: int = NEVER

    def is_in(self, version: int) -> bool:
        return self.first <= version <= self.last


class Layout(NamedTuple):
    """What a message is in bytes."""

    first_version: int
    last_version: int
    flexible_since: int
    fields: dict[str, Field]

    def is_flexible(self, version: int) -> bool:
        return version >= self.flexible_since


@dataclass_transform(kw_only_default=True, frozen_default=True)
class MessageMeta(StructMeta):
    """Takes the layout of a declaration aside, so that what is left is a struct with defaults."""

    # The field functions are not named as field specifiers: to a type checker each then is a plain default, and every
    # field has one.
    def __new__(
        mcs: type["MessageMeta"],
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        versions: tuple[int, int] = (0, 0),
        flexible_since: int = NEVER,
    ) -> "MessageMeta":
        fields = {member: value for member, value in namespace.items() if isinstance(value, Field)}
        if undeclared := [member for member in namespace.get("__annotations__", ()) if member not in fields]:
            raise TypeError(f"{name}: {', '.join(undeclared)} must be declared with a field of wire.schema")
        namespace.update({member: field.default for member, field in fields.items()})
        # Types are not checked when a message is made, and working them out would take longer than all the rest.
        namespace["__annotations__"] = dict.fromkeys(fields, Any)
        namespace["layout"] = Layout(*versions, flexible_since, fields)
        # Messages hold no references to what holds them, so the garbage collector need not look at them.
        return super().__new__(mcs, name, bases, namespace, frozen=True, gc=False)


class Message(Struct, metaclass=MessageMeta):
    """A value: compared by its fields, and never changed after it was made."""

    if TYPE_CHECKING:
        layout: ClassVar[Layout]

    def replace(self: M, **changes: Any) -> M:
        """The same message but for these fields."""
        return replace(self, **changes)


def since(version: int, field: Any) -> Any:
    return within(version, NEVER, field)


def within(first: int, last: int, field: Any) -> Any:
    return field._replace(first=first, last=last)


def int8(default: int = 0, *, tag: int | None = None) -> Any:
    return Field("int8", default, tag=tag)


def int16(default: int = 0, *, tag: int | None = None) -> Any:
    return Field("int16", default, tag=tag)


def uint16(default: int = 0, *, tag: int | None = None) -> Any:
    return Field("uint16", default, tag=tag)


def int32(default: int = 0, *, tag: int | None = None) -> Any:
    return Field("int32", default, tag=tag)


def int64(default: int = 0, *, tag: int | None = None) -> Any:
    return Field("int64", default, tag=tag)


def float64(default: float = 0.0, *, tag: int | None = None) -> Any:
    return Field("float64", default, tag=tag)


def boolean(default: bool = False, *, tag: int | None = None) -> Any:
    return Field("bool", default, tag=tag)


def uuid_field(default: uuid.UUID | None = None, *, tag: int | None = None) -> Any:
    """None is written as sixteen zero bytes, which is what Kafka takes for no id."""
    return Field("uuid", default, tag=tag)


def string(default: str | None = "", *, tag: int | None = None, nullable_since: int = NEVER) -> Any:
    return _nullable(Field("string", default, tag=tag, nullable_since=nullable_since))


def bytes_field(default: bytes | None = b"", *, tag: int | None = None, nullable_since: int = NEVER) -> Any:
    return _nullable(Field("bytes", default, tag=tag, nullable_since=nullable_since))


def array(element: "type | str", default: object = (), *, tag: int | None = None, nullable_since: int = NEVER) -> Any:
    """Of entities, or of a primitive type by its name."""
    of = Field(element, None) if isinstance(element, str) else Field(ENTITY, None, entity=element)
    return _nullable(Field(ARRAY, default, of, tag=tag, nullable_since=nullable_since))


def entity(of: type, *, tag: int | None = None, nullable_since: int = NEVER, default: object = ...) -> Any:
    """One within another. Its default is that of all its fields, or null."""
    value = of() if default is ... else default
    return _nullable(Field(ENTITY, value, entity=of, tag=tag, nullable_since=nullable_since))


def of_kind(kind: str, default: object, *, tag: int | None = None) -> Any:
    """A primitive type that only generated messages use: times and error codes."""
    return Field(kind, default, tag=tag)


def _nullable(field: Field) -> Field:
    """A field whose default is null may be null from the beginning, unless it says since when."""
    return field._replace(nullable_since=0) if field.default is None and field.nullable_since == NEVER else field
