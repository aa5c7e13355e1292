"""AlterConfigs and IncrementalAlterConfigs on topics and brokers."""

import pytest
from cluster_images import Operation, applied, cluster, code_of, resource, topic, with_topics

from barnabas.controller.decisions.alter_configs import (
    APPEND,
    DELETE,
    SET,
    SUBTRACT,
    decide_alter_configs,
    decide_incremental_alter_configs,
)
from barnabas.metadata.configs import BrokerConfigs
from barnabas.metadata.image import BROKER, CLIENT_METRICS, GROUP, TOPIC, ClusterImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages import alter_configs, incremental_alter_configs


def alter(image: ClusterImage, kind: int, name: str, *operations: Operation) -> tuple[ErrorCode, ClusterImage]:
    request = incremental_alter_configs.IncrementalAlterConfigsRequest(resources=(resource(kind, name, *operations),))
    decision = decide_incremental_alter_configs(image, request, configs=BrokerConfigs())
    return code_of(decision.response[0]), applied(image, decision)


def test_single_configs_are_set_and_deleted() -> None:
    image = with_topics(cluster(), topic("t", retention_ms="5"))
    code, image = alter(image, TOPIC, "t", ("max.message.bytes", SET, "99"), ("retention.ms", DELETE, None))
    assert code is ErrorCode.none
    assert image.configs.of(TOPIC, "t") == {"max.message.bytes": "99"}
    code, after = alter(image, TOPIC, "t", ("max.message.bytes", SET, "99"), ("retention.ms", DELETE, None))
    assert (code, after) == (ErrorCode.none, image)


def test_lists_are_appended_to_and_subtracted_from() -> None:
    image = with_topics(cluster(), topic("t"))
    _, image = alter(image, TOPIC, "t", ("cleanup.policy", APPEND, "compact"))
    assert image.configs.of(TOPIC, "t") == {"cleanup.policy": "delete,compact"}
    _, image = alter(image, TOPIC, "t", ("cleanup.policy", APPEND, "compact"))
    assert image.configs.of(TOPIC, "t") == {"cleanup.policy": "delete,compact"}
    _, image = alter(image, TOPIC, "t", ("cleanup.policy", SUBTRACT, "delete"))
    assert image.configs.of(TOPIC, "t") == {"cleanup.policy": "compact"}


@pytest.mark.parametrize(
    ("kind", "name", "operation", "code"),
    [
        (TOPIC, "t", ("retention.ms", SET, "soon"), ErrorCode.invalid_config),
        (TOPIC, "t", ("retention.ms", SET, None), ErrorCode.invalid_request),
        (TOPIC, "t", ("retention.ms", APPEND, "1"), ErrorCode.invalid_config),
        (TOPIC, "t", ("retention.ms", 9, "1"), ErrorCode.invalid_request),
        (TOPIC, "t", ("colour", SET, "red"), ErrorCode.invalid_config),
        (TOPIC, "t", ("colour", DELETE, None), ErrorCode.none),
        (TOPIC, "t", ("cleanup.policy", APPEND, "burn"), ErrorCode.invalid_config),
        (TOPIC, "nope", ("retention.ms", SET, "1"), ErrorCode.unknown_topic_or_partition),
        (TOPIC, "", ("retention.ms", SET, "1"), ErrorCode.invalid_request),
        (TOPIC, "a b", ("retention.ms", SET, "1"), ErrorCode.invalid_topic_exception),
        (BROKER, "", ("log.retention.ms", SET, "1"), ErrorCode.none),
        (BROKER, "1", ("log.retention.ms", SET, "1"), ErrorCode.none),
        (BROKER, "2", ("log.retention.ms", SET, "1"), ErrorCode.invalid_request),
        (BROKER, "x", ("log.retention.ms", SET, "1"), ErrorCode.invalid_request),
        (BROKER, "", ("num.partitions", SET, "1"), ErrorCode.invalid_request),
        (BROKER, "", ("colour", SET, "1"), ErrorCode.invalid_request),
        (BROKER, "", ("colour", DELETE, None), ErrorCode.none),
        (8, "1", ("root", SET, "DEBUG"), ErrorCode.invalid_request),
        (GROUP, "g", ("x", SET, "1"), ErrorCode.invalid_config),
        (GROUP, "", ("consumer.session.timeout.ms", SET, "50000"), ErrorCode.invalid_request),
        (GROUP, "g", ("consumer.session.timeout.ms", SET, "50000"), ErrorCode.none),
        (GROUP, "g", ("consumer.session.timeout.ms", SET, "5"), ErrorCode.invalid_config),
        (GROUP, "g", ("consumer.session.timeout.ms", SET, "60001"), ErrorCode.invalid_config),
        (GROUP, "g", ("consumer.heartbeat.interval.ms", SET, "15000"), ErrorCode.none),
        (GROUP, "g", ("consumer.heartbeat.interval.ms", SET, "x"), ErrorCode.invalid_config),
        (GROUP, "g", ("share.isolation.level", SET, "read_committed"), ErrorCode.none),
        (GROUP, "g", ("share.isolation.level", SET, "serializable"), ErrorCode.invalid_config),
        (GROUP, "g", ("share.auto.offset.reset", SET, "by_duration:P1DT2H3.5S"), ErrorCode.none),
        (GROUP, "g", ("share.auto.offset.reset", SET, "by_duration:PT"), ErrorCode.invalid_config),
        (GROUP, "g", ("share.auto.offset.reset", SET, "none"), ErrorCode.invalid_config),
        (GROUP, "g", ("streams.num.standby.replicas", SET, "3"), ErrorCode.invalid_config),
        (CLIENT_METRICS, "s", ("interval.ms", SET, "100"), ErrorCode.none),
        (CLIENT_METRICS, "s", ("interval.ms", SET, "99"), ErrorCode.invalid_request),
        (CLIENT_METRICS, "s", ("interval.ms", SET, "3600001"), ErrorCode.invalid_request),
        (CLIENT_METRICS, "s", ("interval.ms", SET, "soon"), ErrorCode.invalid_config),
        (CLIENT_METRICS, "s", ("metrics", APPEND, "org.apache.kafka.producer"), ErrorCode.none),
        (CLIENT_METRICS, "s", ("match", SET, "client_id=a.*,client_software_name=x"), ErrorCode.none),
        (CLIENT_METRICS, "s", ("match", SET, "shoe_size=44"), ErrorCode.invalid_config),
        (CLIENT_METRICS, "s", ("match", SET, "client_id"), ErrorCode.invalid_config),
        (CLIENT_METRICS, "s", ("match", SET, "client_id=["), ErrorCode.invalid_config),
        (CLIENT_METRICS, "s", ("retention.ms", SET, "1"), ErrorCode.invalid_request),
        (CLIENT_METRICS, "", ("interval.ms", SET, "100"), ErrorCode.invalid_request),
        (BROKER, "1", ("min.insync.replicas", SET, "2"), ErrorCode.invalid_config),
        (BROKER, "", ("min.insync.replicas", SET, "2"), ErrorCode.none),
        (BROKER, "", ("min.insync.replicas", DELETE, None), ErrorCode.invalid_config),
        (77, "g", ("x", SET, "1"), ErrorCode.invalid_request),
    ],
)
def test_each_resource_gets_its_own_answer(kind: int, name: str, operation: Operation, code: ErrorCode) -> None:
    image = with_topics(cluster(1), topic("t"))
    result, after = alter(image, kind, name, operation)
    assert result is code
    if code is not ErrorCode.none:
        assert after == image


def test_a_resource_changes_as_a_whole_or_not_at_all() -> None:
    image = with_topics(cluster(), topic("t"))
    code, after = alter(image, TOPIC, "t", ("max.message.bytes", SET, "99"), ("retention.ms", SET, "soon"))
    assert (code, after) == (ErrorCode.invalid_config, image)
    code, after = alter(image, TOPIC, "t", ("retention.ms", SET, "1"), ("retention.ms", SET, "2"))
    assert (code, after) == (ErrorCode.invalid_request, image)


def test_a_resource_appears_once_in_a_request() -> None:
    image = with_topics(cluster(), topic("t"), topic("u"))
    change = ("retention.ms", SET, "1")
    request = incremental_alter_configs.IncrementalAlterConfigsRequest(
        resources=(resource(TOPIC, "t", change), resource(TOPIC, "u", change), resource(TOPIC, "t", change))
    )
    decision = decide_incremental_alter_configs(image, request, configs=BrokerConfigs())
    assert [code_of(outcome) for outcome in decision.response] == [
        ErrorCode.invalid_request,
        ErrorCode.none,
        ErrorCode.invalid_request,
    ]


def test_the_older_request_replaces_all_that_was_set() -> None:
    image = with_topics(cluster(), topic("t", retention_ms="5", max_message_bytes="99"))
    wanted = alter_configs.AlterConfigsResource(
        resource_type=TOPIC,
        resource_name="t",
        configs=(alter_configs.AlterableConfig(name="flush.ms", value="1"),),
    )
    request = alter_configs.AlterConfigsRequest(resources=(wanted,))
    decision = decide_alter_configs(image, request, configs=BrokerConfigs())
    assert decision.response == [None]
    assert applied(image, decision).configs.of(TOPIC, "t") == {"flush.ms": "1"}
    trial = alter_configs.AlterConfigsRequest(resources=(wanted,), validate_only=True)
    assert decide_alter_configs(image, trial, configs=BrokerConfigs()).records == ()
