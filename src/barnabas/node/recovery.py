"""Runs before the first connection: renames stray log directories, and recovers large logs.

A small log is recovered when it is first used. A log with much to read after a crash would block the loop then, so it
is recovered now, by workers, several at a time.
"""

import asyncio
import logging
from typing import Final

from barnabas.env import Workers
from barnabas.log.log_store import LogStore
from barnabas.metadata.image import ClusterImage
from barnabas.model import METADATA_TOPIC, TopicPartition
from barnabas.wire.errors import KafkaError

logger = logging.getLogger(__name__)

# Read and checked in about ten milliseconds.
SCAN_BYTES_ON_LOOP_MAX: Final = 4 * 1024 * 1024


def set_strays_aside(store: LogStore, image: ClusterImage) -> None:
    """Rename the directories of partitions that the cluster does not know, and keep their records."""
    for topic_partition, _ in list(store.partitions()):
        topic = image.topics.by_name.get(topic_partition.topic)
        if topic_partition.topic == METADATA_TOPIC or (topic and topic_partition.partition in topic.partitions):
            continue
        try:
            path = store.set_aside(topic_partition)
        except KafkaError as error:
            logger.warning("%s belongs to no topic and cannot be renamed: %s", topic_partition, error)
        else:
            logger.warning("%s belongs to no topic; its files are kept in %s", topic_partition, path)


async def recover_large_logs(store: LogStore, workers: Workers) -> None:
    large = [each for each, _ in store.partitions() if store.bytes_to_scan(each) > SCAN_BYTES_ON_LOOP_MAX]
    if large:
        logger.warning("the last shutdown was not clean: recovering %d logs", len(large))
    await asyncio.gather(*(_recover(store, workers, topic_partition) for topic_partition in large))


async def _recover(store: LogStore, workers: Workers, topic_partition: TopicPartition) -> None:
    try:
        job = store.begin_open(topic_partition)
        await workers.run(job.run)
        log = store.finish_open(job)
    except (KafkaError, OSError) as error:
        logger.warning("%s cannot be recovered: %s", topic_partition, error)  # requests for it will get the same error
    else:
        logger.warning("%s is recovered up to offset %d", topic_partition, log.log_end_offset)
