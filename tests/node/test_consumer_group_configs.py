"""Settings of one group, altered while the broker runs, reach its members with their next heartbeat."""

from datetime import timedelta

from barnabas.testing import Broker
from barnabas.testing.client import Client
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

BROKER, GROUP = 4, 32


def alter(client: Client, resource_type: int, name: str, config: str, value: str) -> ErrorCode:
    request = IncrementalAlterConfigsRequest(
        resources=(
            AlterConfigsResource(
                resource_type=resource_type,
                resource_name=name,
                configs=(AlterableConfig(name=config, config_operation=0, value=value),),
            ),
        )
    )
    (outcome,) = client.call("incremental_alter_configs", 1, request).responses
    return ErrorCode(outcome.error_code)


class Member:
    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self._name = name
        self.epoch = 0

    def beat(self) -> ConsumerGroupHeartbeatResponse:
        joins = self.epoch == 0
        request = ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id=self._name,
            member_epoch=self.epoch,
            rebalance_timeout=timedelta(minutes=5) if joins else timedelta(milliseconds=-1),
            subscribed_topic_names=("t",) if joins else None,
            topic_partitions=() if joins else None,
        )
        answer: ConsumerGroupHeartbeatResponse = self._client.call("consumer_group_heartbeat", 1, request)
        assert answer.error_code == ErrorCode.none, answer.error_message
        self.epoch = answer.member_epoch
        return answer


def test_a_group_has_its_own_heartbeat_interval() -> None:
    with Broker() as broker, Client("127.0.0.1", broker.port) as client:
        broker.create_topic("t", partitions=2)
        client.call("find_coordinator", 6, FindCoordinatorRequest(coordinator_keys=("g",)))
        member = Member(client, "a")
        assert member.beat().heartbeat_interval == timedelta(seconds=5)
        assert alter(client, GROUP, "g", "consumer.heartbeat.interval.ms", "7000") is ErrorCode.none
        assert member.beat().heartbeat_interval == timedelta(seconds=7)
        assert alter(client, GROUP, "g", "consumer.heartbeat.interval.ms", "1") is ErrorCode.invalid_config
        assert alter(client, GROUP, "g", "consumer.strange", "1") is ErrorCode.invalid_config


def test_the_assignment_interval_can_be_altered_for_all_brokers() -> None:
    with Broker() as broker, Client("127.0.0.1", broker.port) as client:
        broker.create_topic("t", partitions=2)
        client.call("find_coordinator", 6, FindCoordinatorRequest(coordinator_keys=("g",)))
        assert alter(client, BROKER, "", "group.consumer.assignment.interval.ms", "15000") is ErrorCode.none
        first, second = Member(client, "a"), Member(client, "b")
        first.beat()
        second.beat()
        assert (first.epoch, second.epoch) == (2, 2), "the first assignment stands for a while"
        assert alter(client, BROKER, "", "group.consumer.assignment.interval.ms", "0") is ErrorCode.none
        second.beat()
        assert second.epoch == 3
