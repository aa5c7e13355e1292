"""The API table: what is answered, at which versions, on which listener. ApiVersions is derived from it and from
nothing else.

An API's handler is `barnabas.handlers.<name>`, imported when the first such request comes. A row here is the only
place where a version range is written down. APIs of the controller listener alone are what controllers, and brokers as
their clients, say to each other.
"""

from enum import Enum
from typing import Final, NamedTuple


class Listener(Enum):
    BROKER = "broker"
    CONTROLLER = "controller"


_BROKER: Final = frozenset({Listener.BROKER})
_CONTROLLER: Final = frozenset({Listener.CONTROLLER})
_BOTH: Final = _BROKER | _CONTROLLER


class Api(NamedTuple):
    key: int
    name: str
    """The name of its handler module and its message module."""
    version_min: int
    version_max: int
    listeners: frozenset[Listener] = _BROKER

    def serves(self, version: int) -> bool:
        return self.version_min <= version <= self.version_max


ALL_APIS: Final[tuple[Api, ...]] = (
    Api(0, "produce", 3, 13),
    Api(1, "fetch", 4, 18, _BOTH),
    Api(2, "list_offsets", 1, 11),
    Api(3, "metadata", 0, 13),
    Api(8, "offset_commit", 2, 10),
    Api(9, "offset_fetch", 1, 10),
    Api(10, "find_coordinator", 0, 6),
    Api(11, "join_group", 0, 9),
    Api(12, "heartbeat", 0, 4),
    Api(13, "leave_group", 0, 5),
    Api(14, "sync_group", 0, 5),
    Api(15, "describe_groups", 0, 6),
    Api(16, "list_groups", 0, 5),
    Api(17, "sasl_handshake", 0, 1, _BOTH),
    Api(18, "api_versions", 0, 4, _BOTH),
    Api(19, "create_topics", 2, 7, _BOTH),
    Api(20, "delete_topics", 1, 6, _BOTH),
    Api(21, "delete_records", 0, 2),
    Api(22, "init_producer_id", 0, 5),
    Api(23, "offset_for_leader_epoch", 2, 4),
    Api(24, "add_partitions_to_txn", 0, 5),
    Api(25, "add_offsets_to_txn", 0, 4),
    Api(26, "end_txn", 0, 5),
    Api(27, "write_txn_markers", 1, 2),
    Api(28, "txn_offset_commit", 0, 5),
    Api(29, "describe_acls", 1, 3, _BOTH),
    Api(30, "create_acls", 1, 3, _BOTH),
    Api(31, "delete_acls", 1, 3, _BOTH),
    Api(32, "describe_configs", 1, 4, _BOTH),
    Api(33, "alter_configs", 0, 2, _BOTH),
    Api(34, "alter_replica_log_dirs", 1, 2),
    Api(35, "describe_log_dirs", 1, 5),
    Api(36, "sasl_authenticate", 0, 2, _BOTH),
    Api(37, "create_partitions", 0, 3, _BOTH),
    Api(38, "create_delegation_token", 1, 3, _BOTH),
    Api(39, "renew_delegation_token", 1, 2, _BOTH),
    Api(40, "expire_delegation_token", 1, 2, _BOTH),
    Api(41, "describe_delegation_token", 1, 3, _BOTH),
    Api(42, "delete_groups", 0, 2),
    Api(43, "elect_leaders", 0, 2, _BOTH),
    Api(44, "incremental_alter_configs", 0, 1, _BOTH),
    Api(45, "alter_partition_reassignments", 0, 1, _BOTH),
    Api(46, "list_partition_reassignments", 0, 0, _BOTH),
    Api(47, "offset_delete", 0, 0),
    Api(48, "describe_client_quotas", 0, 1),
    Api(49, "alter_client_quotas", 0, 1, _BOTH),
    Api(50, "describe_user_scram_credentials", 0, 0, _BOTH),
    Api(51, "alter_user_scram_credentials", 0, 0, _BOTH),
    Api(52, "vote", 0, 2, _CONTROLLER),
    Api(53, "begin_quorum_epoch", 0, 1, _CONTROLLER),
    Api(54, "end_quorum_epoch", 0, 1, _CONTROLLER),
    Api(55, "describe_quorum", 0, 2, _BOTH),
    Api(57, "update_features", 0, 2, _BOTH),
    Api(59, "fetch_snapshot", 0, 1, _CONTROLLER),
    Api(60, "describe_cluster", 0, 2, _BOTH),
    Api(61, "describe_producers", 0, 0),
    Api(62, "broker_registration", 0, 4, _CONTROLLER),
    Api(63, "broker_heartbeat", 0, 2, _CONTROLLER),
    Api(64, "unregister_broker", 0, 0, _BOTH),
    Api(65, "describe_transactions", 0, 0),
    Api(66, "list_transactions", 0, 2),
    Api(68, "consumer_group_heartbeat", 0, 1),
    Api(69, "consumer_group_describe", 0, 1),
    Api(70, "controller_registration", 0, 0, _CONTROLLER),
    Api(71, "get_telemetry_subscriptions", 0, 0),
    Api(72, "push_telemetry", 0, 0),
    Api(74, "list_config_resources", 0, 1),
    Api(75, "describe_topic_partitions", 0, 0),
    Api(76, "share_group_heartbeat", 1, 1),
    Api(77, "share_group_describe", 1, 1),
    Api(78, "share_fetch", 1, 2),
    Api(79, "share_acknowledge", 1, 2),
    Api(80, "add_raft_voter", 0, 1, _BOTH),
    Api(81, "remove_raft_voter", 0, 0, _BOTH),
    Api(82, "update_raft_voter", 0, 0, _CONTROLLER),
    Api(83, "initialize_share_group_state", 0, 0),
    Api(84, "read_share_group_state", 0, 0),
    Api(85, "write_share_group_state", 0, 1),
    Api(86, "delete_share_group_state", 0, 0),
    Api(87, "read_share_group_state_summary", 0, 1),
    Api(90, "describe_share_group_offsets", 0, 1),
    Api(91, "alter_share_group_offsets", 0, 0),
    Api(92, "delete_share_group_offsets", 0, 0),
)

APIS: Final = tuple(api for api in ALL_APIS if Listener.BROKER in api.listeners)
"""Of the broker listener."""

CONTROLLER_APIS: Final = tuple(api for api in ALL_APIS if Listener.CONTROLLER in api.listeners)
"""Of the controller listener, as Apache Kafka's controllers serve them."""

BY_KEY: Final = {api.key: api for api in APIS}

PRODUCE: Final = BY_KEY[0]
FETCH: Final = BY_KEY[1]
METADATA: Final = BY_KEY[3]
API_VERSIONS: Final = BY_KEY[18]

PRODUCE_FLEXIBLE_SINCE: Final = 9

# librdkafka decides what a broker can do by Produce 0 although nobody sends it any more (KAFKA-18659).
ADVERTISED_MIN: Final = {PRODUCE.key: 0}

# GetTelemetrySubscriptions and PushTelemetry: clients that see them ask what to push, so they are told of them only
# where somebody has subscribed to metrics. Kafka advertises them where a receiver is configured.
TELEMETRY_KEYS: Final = frozenset({71, 72})
