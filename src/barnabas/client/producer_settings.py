"""A producer's properties, with the names of Kafka's Java client and most of its defaults."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from barnabas.client.errors import BadProperty
from barnabas.records.compression import CODEC_BY_COMPRESSION_TYPE, Codec

T = TypeVar("T")

ACKS_ALL: Final = -1
_ACKS: Final = {"all": ACKS_ALL, "-1": ACKS_ALL, "1": 1, "0": 0}
_TRUTH: Final = {"true": True, "false": False}
_LEVELS: Final = {  # what Kafka's own validators allow
    Codec.GZIP: ("compression.gzip.level", range(-1, 10)),
    Codec.LZ4: ("compression.lz4.level", range(1, 18)),
    Codec.ZSTD: ("compression.zstd.level", range(-131072, 23)),
}
_INT32_MAX: Final = (1 << 31) - 1

IN_FLIGHT_MAX: Final = 5
"""Brokers remember the last five batches of a producer in each partition, and recognise a retry only among these."""


@dataclass(frozen=True)
class ProducerSettings:
    acks: int = ACKS_ALL
    idempotent: bool = True
    codec: Codec = Codec.NONE
    compression_level: int | None = None
    batch_bytes_max: int = 512 * 1024
    """batch.size. The Java client's 16 KB suit single records; here records come by the thousand."""
    request_bytes_max: int = 1024 * 1024
    """max.request.size"""
    buffer_bytes_max: int = 32 * 1024 * 1024
    """buffer.memory: batches that are not acknowledged yet."""
    in_flight_max: int = IN_FLIGHT_MAX
    """max.in.flight.requests.per.connection"""
    delivery_timeout_s: float = 120.0
    """delivery.timeout.ms: for a batch, from `send` on, retries included."""
    max_block_s: float = 60.0
    """max.block.ms: how long to wait for a new topic."""


def producer_settings(properties: Mapping[str, str]) -> ProducerSettings:
    """From Kafka's names, without "kafka." in front; BadProperty if a value is wrong. Other names are ignored."""
    acks = _choice(properties, "acks", "all", _ACKS)
    wants_idempotence = "enable.idempotence" in properties
    idempotent = _choice(properties, "enable.idempotence", "true", _TRUTH)
    if idempotent and acks != ACKS_ALL:
        if wants_idempotence:
            raise BadProperty("acks", f"{properties['acks']} and enable.idempotence=true exclude each other", "use all")
        idempotent = False  # as in the Java client, if it was not asked for
    default = ProducerSettings()
    in_flight = _number(properties, "max.in.flight.requests.per.connection", IN_FLIGHT_MAX, 1)
    codec, level = _compression(properties)
    return ProducerSettings(
        acks=acks,
        idempotent=idempotent,
        codec=codec,
        compression_level=level,
        batch_bytes_max=max(_number(properties, "batch.size", default.batch_bytes_max, 0), 1),
        request_bytes_max=_number(properties, "max.request.size", default.request_bytes_max, 1),
        buffer_bytes_max=_number(properties, "buffer.memory", default.buffer_bytes_max, 1, (1 << 63) - 1),
        in_flight_max=min(in_flight, IN_FLIGHT_MAX) if idempotent else in_flight,
        delivery_timeout_s=_number(properties, "delivery.timeout.ms", 120_000, 0) / 1000,
        max_block_s=_number(properties, "max.block.ms", 60_000, 0, (1 << 63) - 1) / 1000,
    )


def _compression(properties: Mapping[str, str]) -> tuple[Codec, int | None]:
    names = {"none": Codec.NONE, **{name: codec for name, codec in CODEC_BY_COMPRESSION_TYPE.items() if codec}}
    codec = _choice(properties, "compression.type", "none", names)
    if codec not in _LEVELS:
        return codec, None
    name, allowed = _LEVELS[codec]
    if name not in properties:
        return codec, None
    return codec, _number(properties, name, 0, allowed.start, allowed.stop - 1)


def _choice(properties: Mapping[str, str], name: str, default: str, choices: Mapping[str, T]) -> T:
    value = properties.get(name, default).strip().lower()
    if value not in choices:
        raise BadProperty(name, f"{value!r} is not one of its values", f"choose one of {', '.join(choices)}")
    return choices[value]


def _number(properties: Mapping[str, str], name: str, default: int, lowest: int, highest: int = _INT32_MAX) -> int:
    text = properties.get(name)
    if text is None:
        return default
    try:
        value = int(text.strip())
    except ValueError:
        raise BadProperty(name, f"{text!r} is not a number", "write a whole number") from None
    if not lowest <= value <= highest:
        raise BadProperty(name, f"{value} is out of bounds", f"choose a number from {lowest} to {highest}")
    return value
