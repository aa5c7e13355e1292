"""Stored records as Kafka's JSON converters print them: schema names, ids in base64, tagged fields only where they say
something."""

import base64
import json
import re
import uuid
from typing import Any

from barnabas.wire.schema import Message

# Where the schema's name is not the plain camel case of ours.
_NAMES = {"kraft_version": "kRaftVersion", "kraft_version_feature": "kRaftVersionFeature"}
_NO_ID = uuid.UUID(int=0)


def to_json(value: Any) -> Any:
    if isinstance(value, Message):
        return {
            java_name(name): to_json(getattr(value, name))
            for name, field in value.layout.fields.items()
            if field.tag is None or getattr(value, name) != field.default
        }
    if isinstance(value, uuid.UUID):
        return uuid_json(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, list | tuple):
        return [uuid_json(None) if one is None else to_json(one) for one in value]
    return value


def uuid_json(value: uuid.UUID | None) -> str:
    return base64.urlsafe_b64encode((value or _NO_ID).bytes).decode().rstrip("=")


def java_name(name: str) -> str:
    if name in _NAMES:
        return _NAMES[name]
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def enum_name(class_name: str) -> str:
    """FeatureLevelRecord: FEATURE_LEVEL_RECORD."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", class_name).upper()


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
