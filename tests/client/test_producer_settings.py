import pytest

from barnabas.client.errors import BadProperty
from barnabas.client.producer_settings import ProducerSettings, producer_settings
from barnabas.records.compression import Codec


def test_defaults_and_names_of_others() -> None:
    assert producer_settings({"bootstrap.servers": "localhost:9092", "linger.ms": "5"}) == ProducerSettings()


def test_every_property() -> None:
    assert producer_settings(
        {
            "acks": "all",
            "enable.idempotence": "true",
            "compression.type": "zstd",
            "compression.zstd.level": "7",
            "batch.size": "1000",
            "max.request.size": "2000",
            "buffer.memory": "3000",
            "max.in.flight.requests.per.connection": "2",
            "delivery.timeout.ms": "4000",
            "max.block.ms": "5000",
        }
    ) == ProducerSettings(
        codec=Codec.ZSTD,
        compression_level=7,
        batch_bytes_max=1000,
        request_bytes_max=2000,
        buffer_bytes_max=3000,
        in_flight_max=2,
        delivery_timeout_s=4.0,
        max_block_s=5.0,
    )


@pytest.mark.parametrize("name", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_codecs(name: str) -> None:
    assert producer_settings({"compression.type": name}).codec.name.lower() == name


def test_fewer_acknowledgements_end_idempotence_unless_it_was_asked_for() -> None:
    assert producer_settings({"acks": "1"}).idempotent is False
    assert producer_settings({"acks": "0", "max.in.flight.requests.per.connection": "50"}).in_flight_max == 50
    with pytest.raises(BadProperty, match="exclude each other; use all"):
        producer_settings({"acks": "1", "enable.idempotence": "true"})


def test_no_more_in_flight_than_brokers_remember() -> None:
    assert producer_settings({"max.in.flight.requests.per.connection": "50"}).in_flight_max == 5


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"acks": "2"}, "acks: '2' is not one of its values; choose one of all, -1, 1, 0"),
        ({"compression.type": "rar"}, "choose one of none, gzip, snappy, lz4, zstd"),
        ({"compression.type": "gzip", "compression.gzip.level": "11"}, "from -1 to 9"),
        ({"batch.size": "many"}, "'many' is not a number"),
        ({"max.request.size": "0"}, "max.request.size: 0 is out of bounds"),
        ({"enable.idempotence": "maybe"}, "true, false"),
    ],
)
def test_nonsense_is_refused_with_what_would_be_right(properties: dict[str, str], said: str) -> None:
    with pytest.raises(BadProperty) as refused:
        producer_settings(properties)
    assert said in str(refused.value)
