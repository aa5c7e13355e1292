"""The lag of versions, from their consumer groups."""

import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from demo.plan import TOPIC

_TIMEOUT_S: Final = 30.0
_ASK_AGAIN_S: Final = 0.2


class Sample(NamedTuple):
    at_s: float
    """Since the replay was started."""
    lag: dict[str, int]
    """By version: records, of the flow that is furthest behind."""


class LagWatch:
    """Flows commit in groups `barnabas.<project>.<version>.<flow>`."""

    def __init__(self, servers: str, project: str, flows: Sequence[str], partitions: int) -> None:
        self.samples: list[Sample] = []
        self._project = project
        self._flows = flows
        self._partitions = [TopicPartition(TOPIC, partition) for partition in range(partitions)]
        settings = {"bootstrap.servers": servers, "log_level": 0}
        self._admin = AdminClient(settings)
        self._consumer = Consumer({**settings, "group.id": "demo-lag"})
        self._started = time.monotonic()

    def begin(self) -> None:
        self._started = time.monotonic()

    def look(self, versions: Sequence[str]) -> Sample:
        ends = self._ends()
        sample = Sample(time.monotonic() - self._started, {one: self._lag(one, ends) for one in versions})
        self.samples.append(sample)
        return sample

    def close(self) -> None:
        self._consumer.close()

    def _ends(self) -> dict[int, int]:
        wanted = {partition: OffsetSpec.latest() for partition in self._partitions}
        found = self._admin.list_offsets(wanted, request_timeout=_TIMEOUT_S)
        return {partition.partition: future.result().offset for partition, future in found.items()}

    def _lag(self, version: str, ends: dict[int, int]) -> int:
        return max(self._lag_of(f"barnabas.{self._project}.{version}.{flow}", ends) for flow in self._flows)

    def _lag_of(self, group: str, ends: dict[int, int]) -> int:
        answer = self._committed(ConsumerGroupTopicPartitions(group, self._partitions))
        return sum(ends[one.partition] - max(0, one.offset) for one in answer.topic_partitions)

    def _committed(self, asked: ConsumerGroupTopicPartitions) -> ConsumerGroupTopicPartitions:
        while True:
            answer = self._admin.list_consumer_group_offsets([asked], request_timeout=_TIMEOUT_S)[asked.group_id]
            try:
                return answer.result()
            except KafkaException as failure:
                # The first request creates the offsets topic.
                if failure.args[0].code() != KafkaError.COORDINATOR_LOAD_IN_PROGRESS:
                    raise
                time.sleep(_ASK_AGAIN_S)
