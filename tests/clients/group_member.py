"""A member of a consumer group, in its own process, so that it can be killed.

    python group_member.py '{"client": "confluent-kafka", "servers": ..., "group": ..., "topic": ..., "assignor": ...}'

It processes a record by printing it on stdout, then commits, then takes the next. It prints its assignment whenever
that changes. SIGTERM makes it leave the group cleanly. One JSON document per line:
{"assigned": [0, 1]} or {"partition": 0, "offset": 7, "value": "..."}.
"""

import asyncio
import json
import signal
import sys
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

SESSION_TIMEOUT_MS = 1500
"""Short, so that a killed member is removed soon."""
HEARTBEAT_INTERVAL_MS = 100

leaving = False


def print_event(**event: Any) -> None:
    print(json.dumps(event), flush=True)


def print_record(partition: int, offset: int, value: bytes) -> None:
    print_event(partition=partition, offset=offset, value=value.decode())


def leave(*_: Any) -> None:
    global leaving  # noqa: PLW0603 - a signal handler has no other way to tell the loop
    leaving = True


def confluent_kafka(
    servers: str, group: str, topic: str, assignor: str, instance: str | None, migrates: bool = False
) -> None:
    """`migrates`: its group changes the protocol, and with it the generation, while the member keeps reading."""
    from client_confluent import consumer
    from confluent_kafka import KafkaError, KafkaException, TopicPartition

    meets_a_rebalance = (KafkaError.ILLEGAL_GENERATION, KafkaError.REBALANCE_IN_PROGRESS)

    def assigned(member: Any, partitions: Any) -> None:
        if cooperative:
            member.incremental_assign(partitions)
        else:
            member.assign(partitions)
        held.update(each.partition for each in partitions)
        print_event(assigned=sorted(held))

    def revoked(member: Any, partitions: Any) -> None:
        for partition in {each.partition for each in partitions} & uncommitted.keys():
            commit(partition)
        if cooperative:
            member.incremental_unassign(partitions)
        else:
            member.unassign()
        held.difference_update(each.partition for each in partitions)
        print_event(assigned=sorted(held))

    def commit(partition: int) -> None:
        """A cooperative member goes on reading through a rebalance. A commit that meets one is made good later: with
        the partition's next, or when the partition is revoked."""
        try:
            member.commit(offsets=[TopicPartition(topic, partition, uncommitted[partition])], asynchronous=False)
        except KafkaException as error:
            if not (cooperative or migrates) or error.args[0].code() not in meets_a_rebalance:
                raise
        else:
            del uncommitted[partition]

    held: set[int] = set()
    uncommitted: dict[int, int] = {}
    cooperative = assignor == "cooperative-sticky"
    config: dict[str, Any] = {"group.instance.id": instance} if instance else {}
    member = consumer(
        servers,
        group,
        **{
            "partition.assignment.strategy": assignor,
            "session.timeout.ms": SESSION_TIMEOUT_MS,
            "heartbeat.interval.ms": HEARTBEAT_INTERVAL_MS,
            **config,
        },
    )
    member.subscribe([topic], on_assign=assigned, on_revoke=revoked)
    while not leaving:
        message = member.poll(0.05)
        if message is None:
            continue
        if message.error():
            raise RuntimeError(message.error())
        print_record(message.partition(), message.offset(), message.value())
        uncommitted[message.partition()] = message.offset() + 1
        commit(message.partition())
    # In the middle of a rebalance, close() leaves the group before it lets a revoked partition be committed.
    while uncommitted:
        time.sleep(0.01)
        for partition in list(uncommitted):
            commit(partition)
    member.close()


def consumer_protocol(servers: str, group: str, topic: str, assignor: str, instance: str | None) -> None:
    """librdkafka with the protocol of KIP-848: the broker assigns. `topic` may be a regular expression."""
    from client_confluent import consumer
    from confluent_kafka import KafkaError, KafkaException, TopicPartition

    stale = (KafkaError.STALE_MEMBER_EPOCH, KafkaError.UNKNOWN_MEMBER_ID)

    def assigned(member: Any, partitions: Any) -> None:
        member.incremental_assign(partitions)
        held.update(each.partition for each in partitions)
        print_event(assigned=sorted(held))

    def revoked(member: Any, partitions: Any) -> None:
        for place in [each for each in uncommitted if each[1] in {each.partition for each in partitions}]:
            commit(*place)
        member.incremental_unassign(partitions)
        held.difference_update(each.partition for each in partitions)
        print_event(assigned=sorted(held))

    def commit(name: str, partition: int) -> None:
        """The member's epoch may have just changed: then the next commit succeeds."""
        try:
            member.commit(offsets=[TopicPartition(name, partition, uncommitted[name, partition])], asynchronous=False)
        except KafkaException as error:
            if error.args[0].code() not in stale:
                raise
        else:
            del uncommitted[name, partition]

    held: set[int] = set()
    uncommitted: dict[tuple[str, int], int] = {}
    config: dict[str, Any] = {"group.protocol": "consumer", "group.remote.assignor": assignor}
    if instance:
        config["group.instance.id"] = instance
    member = consumer(servers, group, **config)
    member.subscribe([topic], on_assign=assigned, on_revoke=revoked)
    while not leaving:
        message = member.poll(0.05)
        if message is None:
            continue
        if message.error():
            raise RuntimeError(message.error())
        print_record(message.partition(), message.offset(), message.value())
        uncommitted[message.topic(), message.partition()] = message.offset() + 1
        commit(message.topic(), message.partition())
    member.close()


def kafka_python(servers: str, group: str, topic: str, assignor: str, instance: str | None) -> None:
    from client_kafka_python import consumer
    from kafka import ConsumerRebalanceListener
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from kafka.errors import KafkaConnectionError

    assignors = (RangePartitionAssignor, RoundRobinPartitionAssignor, CooperativeStickyAssignor)

    class Listener(ConsumerRebalanceListener):
        def on_partitions_revoked(self, revoked: Any) -> None:
            print_event(assigned=sorted(each.partition for each in member.assignment() - set(revoked)))

        def on_partitions_assigned(self, assigned: Any) -> None:
            print_event(assigned=sorted(each.partition for each in member.assignment()))

    with closing(
        consumer(
            servers,
            group_id=group,
            group_instance_id=instance,
            partition_assignment_strategy=[each for each in assignors if each.name == assignor],
            session_timeout_ms=SESSION_TIMEOUT_MS,
            heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
        )
    ) as member:
        # kafka-python joins, perhaps before it knows the topic's partitions, and joins again when it does. If poll's
        # timeout ends in the middle of that, it forgets to take up the partitions it was given: hence the long timeout.
        member.subscribe([topic], listener=Listener())
        while not leaving:
            try:
                for records in member.poll(timeout_ms=1000, max_records=1).values():
                    for record in records:
                        print_record(record.partition, record.offset, record.value)
                    member.commit()
            except KafkaConnectionError:
                # It leaves it to us to try again. What is not committed now is committed with the next.
                time.sleep(0.02)


def aiokafka(servers: str, group: str, topic: str, assignor: str, instance: str | None) -> None:
    asyncio.run(_aiokafka(servers, group, topic, assignor, instance))


async def _aiokafka(servers: str, group: str, topic: str, assignor: str, instance: str | None) -> None:
    from aiokafka import ConsumerRebalanceListener
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor
    from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
    from client_aiokafka import consumer

    assignors = (RangePartitionAssignor, RoundRobinPartitionAssignor, StickyPartitionAssignor)
    # aiokafka rebalances in the background: it has to wait while a record is in hand, and a record that may have been
    # taken before a rebalance is taken again.
    in_hand = asyncio.Lock()
    rebalances = 0

    class Listener(ConsumerRebalanceListener):
        async def on_partitions_revoked(self, revoked: Any) -> None:
            nonlocal rebalances
            async with in_hand:
                rebalances += 1

        async def on_partitions_assigned(self, assigned: Any) -> None:
            print_event(assigned=sorted(each.partition for each in assigned))

    async with consumer(
        servers,
        group_id=group,
        group_instance_id=instance,
        partition_assignment_strategy=[each for each in assignors if each.name == assignor],
        session_timeout_ms=SESSION_TIMEOUT_MS,
        heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
    ) as member:
        member.subscribe([topic], listener=Listener())
        while not leaving:
            before = rebalances
            for partition, records in (await member.getmany(timeout_ms=50, max_records=1)).items():
                async with in_hand:
                    if partition not in member.assignment():
                        continue
                    if rebalances != before:
                        member.seek(partition, records[0].offset)
                        continue
                    for record in records:
                        print_record(record.partition, record.offset, record.value)
                    await member.commit({partition: records[-1].offset + 1})


CLIENTS: dict[str, Callable[..., None]] = {
    "confluent-kafka": confluent_kafka,
    "migrating": partial(confluent_kafka, migrates=True),
    "consumer-protocol": consumer_protocol,
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
}

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, leave)
    options = json.loads(sys.argv[1])
    SESSION_TIMEOUT_MS = int(options.pop("session_timeout_ms", SESSION_TIMEOUT_MS))
    CLIENTS[options.pop("client")](**options)
