"""A broker under attack, and checks of its health."""

import datetime
import time
from typing import Any

from barnabas.testing import Broker
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

RSS_MB_MAX = 400
"""A broker at rest has 60 MB; one attack may cost it a few times the 16 MB that a batch may decompress to."""
ANSWER_SECONDS_MAX = 2.0
"""A busy machine's margin: an idle one answers in a millisecond."""


class Attacked:
    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self._topics: set[str] = set()

    def create_topic(self, name: str, config: dict[str, str] | None = None) -> None:
        """Once."""
        if name not in self._topics:
            self._topics.add(name)
            self.broker.create_topic(name, config=config)

    def check_unharmed(self) -> None:
        assert self.broker.is_running()
        assert self.answer_seconds() < ANSWER_SECONDS_MAX
        assert self.peak_mb() < RSS_MB_MAX

    def answer_seconds(self) -> float:
        with self.broker.connect() as client:
            started = time.monotonic()
            request = ApiVersionsRequest(client_software_name="canary", client_software_version="1")
            assert client.call("api_versions", 4, request).error_code == ErrorCode.none
            return time.monotonic() - started

    def peak_mb(self) -> int:
        with open(f"/proc/{self.broker.pid}/status") as status:
            fields = dict(line.split(":", 1) for line in status)
        return int(fields["VmHWM"].split()[0]) // 1024

    def check_log(self) -> None:
        """Our own defects are logged as such."""
        assert self.broker._process is not None
        with open(self.broker._process._stderr_path, errors="replace") as log:
            text = log.read()
        assert "defect" not in text, text[-4000:]
        assert "Traceback" not in text, text[-4000:]

    def produce(self, topic: str, records: bytes | None, *, version: int = 12, acks: int = -1) -> Any:
        """The answer for the partition."""
        with self.broker.connect() as client:
            return (
                client.call("produce", version, produce_request(topic, records, acks=acks))
                .responses[0]
                .partition_responses[0]
            )

    def end_offset(self, topic: str) -> int:
        with self.broker.connect() as client:
            asked = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=0)
            request = FetchRequest(
                topics=(FetchTopic(topic=topic, partitions=(asked,)),), max_wait=datetime.timedelta()
            )
            end: int = client.call("fetch", 12, request).responses[0].partitions[0].high_watermark
            return end


def produce_request(topic: str, records: bytes | None, *, acks: int = -1) -> ProduceRequest:
    data = TopicProduceData(name=topic, partition_data=(PartitionProduceData(index=0, records=records),))
    return ProduceRequest(acks=acks, timeout=datetime.timedelta(seconds=5), topic_data=(data,))
