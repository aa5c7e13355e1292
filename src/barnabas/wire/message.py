"""What all generated messages share. They are values: nobody changes one after it was made.

Plain classes with slots rather than dataclasses: a dataclass costs half a millisecond to define, and a broker that must
answer a quarter of a second after its start cannot pay that for every entity of every API.
"""

from typing import Any, TypeVar

T = TypeVar("T", bound="Message")


class Message:
    __slots__: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in self.__slots__))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({fields})"

    def replace(self: T, **changes: Any) -> T:
        """The same message but for these fields."""
        return type(self)(**{name: getattr(self, name) for name in self.__slots__} | changes)

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """By field, for those that have one."""
        return cls.__init__.__kwdefaults__ or {}
