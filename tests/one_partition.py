"""One partition that this node leads, with its log on a simulated disk."""

import uuid
from random import Random

from barnabas.env import InlineWorkers
from barnabas.log.log_store import LogStore
from barnabas.log.settings import LogSettings
from barnabas.model import TopicPartition
from barnabas.records.admission import AdmissionRules
from barnabas.replication.partition import Partition
from barnabas.testing.clock import VirtualClock
from barnabas.testing.disk import SimulatedDisk

PLACE = TopicPartition("t", 0)
TOPIC_ID = uuid.UUID(int=5)
RULES = AdmissionRules(
    max_message_bytes=1 << 20,
    log_append_time=False,
    timestamp_before_max_ms=1 << 62,
    timestamp_after_max_ms=1 << 62,
    compression=None,
    compression_level=None,
    requires_key=False,
    decompressed_bytes_max=1 << 20,
)


def log_store(clock: VirtualClock, disk: SimulatedDisk, settings: LogSettings) -> LogStore:
    return LogStore(
        disk,
        ["/logs"],
        cluster_id="c",
        node_id=1,
        settings_of=lambda _: settings,
        now_ms=clock.now_ms,
        random=Random(1),
    )


def led_partition(
    clock: VirtualClock, store: LogStore | None = None, workers: InlineWorkers | None = None
) -> Partition:
    if store is None:
        store = log_store(clock, SimulatedDisk(now_ms=clock.now_ms), LogSettings())
    create = store.create
    return Partition(
        PLACE,
        node_id=1,
        open_log=lambda: create(PLACE, TOPIC_ID),
        clock=clock,
        workers=workers or InlineWorkers(),
        leader=1,
        leader_epoch=0,
        admission_rules=RULES,
    )
