"""One directory, two servers: Apache Kafka serves Barnabas's data, Barnabas serves Apache Kafka's, and back again."""

from pathlib import Path

import pytest
from cluster_contents import ClusterContents, Observation, observe
from followed_pages import Followed
from kafka_server import NODE_ID, KafkaServer
from kafka_tools import KafkaTools
from peers import Peers

from barnabas.model.properties import parse_properties
from barnabas.testing import Broker

pytestmark = pytest.mark.timeout(600)

OFTEN = {"metadata.log.max.record.bytes.between.snapshots": "2000"}


@pytest.fixture(params=["stopped", "killed"])
def how_it_ends(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Exchange:
    """A directory that servers take over from each other."""

    def __init__(
        self, peers: Peers, home: Path, how_it_ends: str, *, static_voters: bool = False, page: str = ""
    ) -> None:
        """`page`: properties of Apache Kafka, with the addresses and the directory of the page."""
        self.data_dir = home / "data"
        self._peers = peers
        self._home = home
        self._how_it_ends = how_it_ends
        self._static_voters = static_voters
        self._page = page
        # If servers are killed, the metadata goes through snapshots as well.
        self._properties = OFTEN if how_it_ends == "killed" else {}
        self.contents = ClusterContents()
        self._seen: Observation | None = None
        self._last_offset = -1

    def kafka(self) -> KafkaServer:
        server = KafkaServer(
            self._peers,
            self.data_dir,
            self._home / "kafka",
            properties=self._properties,
            static_voters=self._static_voters,
        )
        page = self._page.replace("localhost:9092", server.bootstrap_servers)
        page = page.replace("localhost:9093", server.controller).replace("/path/to/data", str(self.data_dir))
        server.add(parse_properties(page))
        return server

    def barnabas(self) -> Broker:
        properties = {"node.id": str(NODE_ID), "log.cleaner.backoff.ms": "200", **self._properties}
        return Broker(process=True, data_dir=self.data_dir, properties=properties)

    def write(self, servers: str) -> None:
        self.contents.write(servers)
        self._note(servers)

    def check_and_write_more(self, servers: str) -> None:
        found = observe(servers)
        assert self._seen is not None
        for name in Observation._fields:
            assert getattr(found, name) == getattr(self._seen, name), name
        # The producer's state was kept: a repeated batch is a duplicate, the next one is in sequence.
        assert self.contents.repeat_last_batch(servers) == self._last_offset
        self.contents.write_more(servers)
        self._note(servers)

    def _note(self, servers: str) -> None:
        self._last_offset = self.contents.append_in_sequence(servers)
        self._seen = observe(servers)
        assert set(self._seen.topics) == {"plain", "segmented", "compacted", "trimmed", "sequenced", "paid"}
        assert self._seen.offsets["trimmed", 0][0] == 37
        assert len(list((self.data_dir / "segmented-0").glob("*.log"))) > 3
        # An open transaction holds readers back; the last record they get is from the transaction before it.
        paid = [record.value for record in self._seen.records["paid", 0] if record.key is None]
        assert paid == self.contents.paid
        everything = [record.value for record in self._seen.uncommitted[0] if record.key is None]
        assert (everything[-1] or b"").endswith(b"begins")
        assert len(everything) > len(paid)
        assert list((self.data_dir / "paid-0").glob("*.txnindex"))

    def end(self, server: KafkaServer | Broker) -> None:
        if self._how_it_ends == "killed":
            server.kill()
            return
        server.stop()
        if isinstance(server, KafkaServer):
            assert server.complaints() == []


def test_kafka_serves_what_barnabas_wrote_and_back_again(
    peers: Peers, tmp_path: Path, how_it_ends: str, followed: Followed
) -> None:
    """Kafka starts with what the page says."""
    (block,) = followed("docs/interop.md")
    exchange = Exchange(peers, tmp_path, how_it_ends, page=block.text)
    with exchange.barnabas() as broker:
        exchange.write(broker.bootstrap_servers)
        exchange.end(broker)
    with exchange.kafka() as kafka:
        exchange.check_and_write_more(kafka.bootstrap_servers)
        exchange.end(kafka)
    with exchange.barnabas() as broker:
        exchange.check_and_write_more(broker.bootstrap_servers)
        exchange.end(broker)
    with exchange.kafka() as kafka:
        exchange.check_and_write_more(kafka.bootstrap_servers)
        exchange.end(kafka)


def test_barnabas_serves_what_kafka_wrote_and_back_again(
    peers: Peers, tools: KafkaTools, tmp_path: Path, how_it_ends: str
) -> None:
    exchange = Exchange(peers, tmp_path, how_it_ends)
    kafka = exchange.kafka()
    kafka.format(tools)
    with kafka:
        exchange.write(kafka.bootstrap_servers)
        exchange.end(kafka)
    with exchange.barnabas() as broker:
        exchange.check_and_write_more(broker.bootstrap_servers)
        exchange.end(broker)
    with exchange.kafka() as kafka:
        exchange.check_and_write_more(kafka.bootstrap_servers)
        exchange.end(kafka)
    with exchange.barnabas() as broker:
        exchange.check_and_write_more(broker.bootstrap_servers)


def test_a_quorum_with_static_voters(peers: Peers, tools: KafkaTools, tmp_path: Path) -> None:
    """Barnabas records the voters; Apache Kafka goes on although its configuration names them too."""
    exchange = Exchange(peers, tmp_path, "stopped", static_voters=True)
    kafka = exchange.kafka()
    kafka.format(tools)
    with kafka:
        exchange.write(kafka.bootstrap_servers)
    with exchange.barnabas() as broker:
        exchange.check_and_write_more(broker.bootstrap_servers)
    with exchange.kafka() as kafka:
        exchange.check_and_write_more(kafka.bootstrap_servers)
