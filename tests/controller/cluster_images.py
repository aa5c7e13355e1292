"""Images to decide against."""

import random
import uuid
from collections.abc import Iterable

from barnabas.controller.decisions.brokers import BrokerRegistration, decide_bootstrap, decide_register_broker
from barnabas.controller.decisions.create_topics import CreatedTopic, decide_create_topics
from barnabas.controller.decisions.decision import Decision
from barnabas.metadata.configs import BrokerConfigs
from barnabas.metadata.delta import replay
from barnabas.metadata.features import SUPPORTED_FEATURES
from barnabas.metadata.image import EMPTY_IMAGE, ClusterImage, Endpoint
from barnabas.metadata.records import decode_metadata_record, encode_metadata_record
from barnabas.wire.errors import ErrorCode, KafkaError
from barnabas.wire.messages import incremental_alter_configs
from barnabas.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)

NO_CONFIGS = BrokerConfigs()

Operation = tuple[str, int, str | None]


def registration(broker_id: int, *, clean_shutdown: bool = True) -> BrokerRegistration:
    return BrokerRegistration(
        broker_id=broker_id,
        incarnation_id=uuid.UUID(int=1000 + broker_id),
        endpoints=(Endpoint("PLAINTEXT", f"host{broker_id}", 9092, 0),),
        features=SUPPORTED_FEATURES,
        rack=None,
        directories=(uuid.UUID(int=5000 + broker_id),),
        clean_shutdown=clean_shutdown,
    )


def applied(image: ClusterImage, decision: Decision[object]) -> ClusterImage:
    """The image after replaying the records, encoded and decoded."""
    records = [decode_metadata_record(encode_metadata_record(record)) for record in decision.records]
    return replay(image, records, offset=image.offset + len(records))[0]


def cluster(*broker_ids: int) -> ClusterImage:
    image = applied(EMPTY_IMAGE, decide_bootstrap(EMPTY_IMAGE, BrokerConfigs()))
    for broker_id in broker_ids or (1,):
        image = applied(image, decide_register_broker(image, registration(broker_id)))
    return image


def topic(
    name: str,
    partitions: int = -1,
    replicas: int = -1,
    assignments: Iterable[tuple[int, ...]] = (),
    **configs: str | None,
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=tuple(
            CreatableReplicaAssignment(partition_index=index, broker_ids=broker_ids)
            for index, broker_ids in enumerate(assignments)
        ),
        configs=tuple(CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()),
    )


def create(
    image: ClusterImage, *topics: CreatableTopic, configs: BrokerConfigs = NO_CONFIGS, validate_only: bool = False
) -> Decision[list[CreatedTopic | KafkaError]]:
    request = CreateTopicsRequest(topics=topics, validate_only=validate_only)
    return decide_create_topics(image, request, configs=configs, rng=random.Random(7))


def code_of(outcome: object) -> ErrorCode:
    return outcome.code if isinstance(outcome, KafkaError) else ErrorCode.none


def created(decision: Decision[list[CreatedTopic | KafkaError]]) -> CreatedTopic:
    [outcome] = decision.response
    assert isinstance(outcome, CreatedTopic)
    return outcome


def with_topics(image: ClusterImage, *topics: CreatableTopic) -> ClusterImage:
    return applied(image, create(image, *topics))


def resource(kind: int, name: str, *operations: Operation) -> incremental_alter_configs.AlterConfigsResource:
    return incremental_alter_configs.AlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=tuple(
            incremental_alter_configs.AlterableConfig(name=key, config_operation=operation, value=value)
            for key, operation, value in operations
        ),
    )
