"""Any sequence of decisions, replayed, keeps the image consistent with itself and with a model of it."""

import random

from cluster_images import applied, cluster, registration, resource, topic
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from barnabas.controller.decisions.alter_configs import SET, decide_incremental_alter_configs
from barnabas.controller.decisions.brokers import decide_register_broker
from barnabas.controller.decisions.create_partitions import decide_create_partitions
from barnabas.controller.decisions.create_topics import CreatedTopic, decide_create_topics
from barnabas.controller.decisions.delete_topics import decide_delete_topics
from barnabas.metadata.configs import BrokerConfigs, resolve_topic_settings
from barnabas.metadata.image import TOPIC, TopicImage
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.wire.messages.create_topics import CreateTopicsRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from property_effort import examples

NAMES = st.sampled_from(["a", "b", "a.b", "a_b", "..", "__consumer_offsets", "c"])
CONFIGS = st.sampled_from(
    [("retention.ms", "5"), ("retention.ms", "x"), ("cleanup.policy", "compact"), ("segment.bytes", "1"), ("no", "1")]
)


class ClusterMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.image = cluster(1)
        self.rng = random.Random(11)
        self.partitions: dict[str, int] = {}
        self.configs: dict[str, dict[str, str]] = {}

    @rule(broker_id=st.integers(1, 3), clean=st.booleans())
    def register(self, broker_id: int, clean: bool) -> None:
        decision = decide_register_broker(self.image, registration(broker_id, clean_shutdown=clean))
        self.image = applied(self.image, decision)

    @rule(names=st.lists(NAMES, max_size=3), count=st.integers(-2, 4), factor=st.integers(-1, 3))
    def create(self, names: list[str], count: int, factor: int) -> None:
        request = CreateTopicsRequest(topics=tuple(topic(name, count, factor) for name in names))
        decision = decide_create_topics(self.image, request, configs=BrokerConfigs(), rng=self.rng)
        for name, outcome in zip(names, decision.response, strict=True):
            if isinstance(outcome, CreatedTopic):
                assert name not in self.partitions
                self.partitions[name] = outcome.partition_count
                self.configs[name] = {}
        self.image = applied(self.image, decision)

    @rule(names=st.lists(NAMES, max_size=3))
    def delete(self, names: list[str]) -> None:
        request = DeleteTopicsRequest(topic_names=tuple(names))
        decision = decide_delete_topics(self.image, request, configs=BrokerConfigs())
        for outcome in decision.response:
            if isinstance(outcome, TopicImage):
                del self.partitions[outcome.name], self.configs[outcome.name]
        self.image = applied(self.image, decision)

    @rule(name=NAMES, count=st.integers(-1, 8))
    def grow(self, name: str, count: int) -> None:
        request = CreatePartitionsRequest(topics=(CreatePartitionsTopic(name=name, count=count),))
        decision = decide_create_partitions(self.image, request, rng=self.rng)
        if decision.response == [None]:
            assert count > self.partitions[name]
            self.partitions[name] = count
        self.image = applied(self.image, decision)

    @precondition(lambda self: bool(self.partitions))
    @rule(name=NAMES, config=CONFIGS)
    def alter(self, name: str, config: tuple[str, str]) -> None:
        request = IncrementalAlterConfigsRequest(resources=(resource(TOPIC, name, (config[0], SET, config[1])),))
        decision = decide_incremental_alter_configs(self.image, request, configs=BrokerConfigs())
        if decision.response == [None]:
            self.configs[name][config[0]] = config[1]
        self.image = applied(self.image, decision)

    @invariant()
    def the_image_is_the_model(self) -> None:
        assert {name: len(known.partitions) for name, known in self.image.topics.by_name.items()} == self.partitions
        assert {name: dict(self.image.configs.of(TOPIC, name)) for name in self.partitions} == self.configs

    @invariant()
    def every_partition_is_led_and_placed(self) -> None:
        for known in self.image.topics.by_name.values():
            assert self.image.topics.by_id[known.id] is known
            assert list(known.partitions) == list(range(len(known.partitions)))
            for partition in known.partitions.values():
                assert partition.leader in partition.isr
                assert set(partition.isr) <= set(partition.replicas) <= set(self.image.brokers)
                assert len(set(partition.replicas)) == len(partition.replicas) == len(partition.directories)

    @invariant()
    def every_topics_configs_resolve(self) -> None:
        for name in self.partitions:
            resolve_topic_settings(self.image.configs.of(TOPIC, name), BrokerConfigs())


TestClusterMachine = ClusterMachine.TestCase
TestClusterMachine.settings = settings(max_examples=examples(40), stateful_step_count=30, deadline=None)
