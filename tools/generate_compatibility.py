"""Writes the tables of `docs/compatibility.md`: every API of a Kafka 4.3 broker, every config, what we do with each.

Only the text between each pair of markers is replaced; the prose around them is written by hand. Run it after changing
the API table or a config: `make compatibility`. A test fails when the page and the code differ.

A config counts as acting if its definition says so and some code outside the definitions uses it.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from barnabas.metadata.configs import TOPIC_CONFIGS, ConfigDef, ConfigType, Effect, Update, all_broker_configs
from barnabas.wire.api_table import ADVERTISED_MIN, BY_KEY, Api

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "compatibility.md"
SOURCES = ROOT / "src" / "barnabas"


class KafkaApi(NamedTuple):
    """An API that a Kafka 4.3 broker serves to clients, without its unstable versions."""

    key: int
    name: str
    version_min: int
    version_max: int
    part: str


KAFKA_APIS = (
    KafkaApi(0, "Produce", 3, 13, "records"),
    KafkaApi(1, "Fetch", 4, 18, "records"),
    KafkaApi(2, "ListOffsets", 1, 11, "records"),
    KafkaApi(3, "Metadata", 0, 13, "cluster"),
    KafkaApi(8, "OffsetCommit", 2, 10, "groups"),
    KafkaApi(9, "OffsetFetch", 1, 10, "groups"),
    KafkaApi(10, "FindCoordinator", 0, 6, "groups"),
    KafkaApi(11, "JoinGroup", 0, 9, "groups"),
    KafkaApi(12, "Heartbeat", 0, 4, "groups"),
    KafkaApi(13, "LeaveGroup", 0, 5, "groups"),
    KafkaApi(14, "SyncGroup", 0, 5, "groups"),
    KafkaApi(15, "DescribeGroups", 0, 6, "groups"),
    KafkaApi(16, "ListGroups", 0, 5, "groups"),
    KafkaApi(17, "SaslHandshake", 0, 1, "security"),
    KafkaApi(18, "ApiVersions", 0, 4, "cluster"),
    KafkaApi(19, "CreateTopics", 2, 7, "topics"),
    KafkaApi(20, "DeleteTopics", 1, 6, "topics"),
    KafkaApi(21, "DeleteRecords", 0, 2, "records"),
    KafkaApi(22, "InitProducerId", 0, 5, "records"),
    KafkaApi(23, "OffsetForLeaderEpoch", 2, 4, "records"),
    KafkaApi(24, "AddPartitionsToTxn", 0, 5, "transactions"),
    KafkaApi(25, "AddOffsetsToTxn", 0, 4, "transactions"),
    KafkaApi(26, "EndTxn", 0, 5, "transactions"),
    KafkaApi(27, "WriteTxnMarkers", 1, 2, "transactions"),
    KafkaApi(28, "TxnOffsetCommit", 0, 5, "transactions"),
    KafkaApi(29, "DescribeAcls", 1, 3, "security"),
    KafkaApi(30, "CreateAcls", 1, 3, "security"),
    KafkaApi(31, "DeleteAcls", 1, 3, "security"),
    KafkaApi(32, "DescribeConfigs", 1, 4, "configs"),
    KafkaApi(33, "AlterConfigs", 0, 2, "configs"),
    KafkaApi(34, "AlterReplicaLogDirs", 1, 2, "cluster"),
    KafkaApi(35, "DescribeLogDirs", 1, 5, "cluster"),
    KafkaApi(36, "SaslAuthenticate", 0, 2, "security"),
    KafkaApi(37, "CreatePartitions", 0, 3, "topics"),
    KafkaApi(38, "CreateDelegationToken", 1, 3, "security"),
    KafkaApi(39, "RenewDelegationToken", 1, 2, "security"),
    KafkaApi(40, "ExpireDelegationToken", 1, 2, "security"),
    KafkaApi(41, "DescribeDelegationToken", 1, 3, "security"),
    KafkaApi(42, "DeleteGroups", 0, 2, "groups"),
    KafkaApi(43, "ElectLeaders", 0, 2, "cluster"),
    KafkaApi(44, "IncrementalAlterConfigs", 0, 1, "configs"),
    KafkaApi(45, "AlterPartitionReassignments", 0, 1, "cluster"),
    KafkaApi(46, "ListPartitionReassignments", 0, 0, "cluster"),
    KafkaApi(47, "OffsetDelete", 0, 0, "groups"),
    KafkaApi(48, "DescribeClientQuotas", 0, 1, "quotas"),
    KafkaApi(49, "AlterClientQuotas", 0, 1, "quotas"),
    KafkaApi(50, "DescribeUserScramCredentials", 0, 0, "security"),
    KafkaApi(51, "AlterUserScramCredentials", 0, 0, "security"),
    KafkaApi(55, "DescribeQuorum", 0, 2, "cluster"),
    KafkaApi(57, "UpdateFeatures", 0, 2, "cluster"),
    KafkaApi(60, "DescribeCluster", 0, 2, "cluster"),
    KafkaApi(61, "DescribeProducers", 0, 0, "transactions"),
    KafkaApi(64, "UnregisterBroker", 0, 0, "cluster"),
    KafkaApi(65, "DescribeTransactions", 0, 0, "transactions"),
    KafkaApi(66, "ListTransactions", 0, 2, "transactions"),
    KafkaApi(68, "ConsumerGroupHeartbeat", 0, 1, "new groups"),
    KafkaApi(69, "ConsumerGroupDescribe", 0, 1, "new groups"),
    KafkaApi(71, "GetTelemetrySubscriptions", 0, 0, "telemetry"),
    KafkaApi(72, "PushTelemetry", 0, 0, "telemetry"),
    KafkaApi(74, "ListConfigResources", 0, 1, "configs"),
    KafkaApi(75, "DescribeTopicPartitions", 0, 0, "topics"),
    KafkaApi(76, "ShareGroupHeartbeat", 1, 1, "share groups"),
    KafkaApi(77, "ShareGroupDescribe", 1, 1, "share groups"),
    KafkaApi(78, "ShareFetch", 1, 2, "share groups"),
    KafkaApi(79, "ShareAcknowledge", 1, 2, "share groups"),
    KafkaApi(80, "AddRaftVoter", 0, 1, "cluster"),
    KafkaApi(81, "RemoveRaftVoter", 0, 0, "cluster"),
    KafkaApi(83, "InitializeShareGroupState", 0, 0, "share groups"),
    KafkaApi(84, "ReadShareGroupState", 0, 0, "share groups"),
    KafkaApi(85, "WriteShareGroupState", 0, 1, "share groups"),
    KafkaApi(86, "DeleteShareGroupState", 0, 0, "share groups"),
    KafkaApi(87, "ReadShareGroupStateSummary", 0, 1, "share groups"),
    KafkaApi(88, "StreamsGroupHeartbeat", 0, 0, "streams groups"),
    KafkaApi(89, "StreamsGroupDescribe", 0, 0, "streams groups"),
    KafkaApi(90, "DescribeShareGroupOffsets", 0, 1, "share groups"),
    KafkaApi(91, "AlterShareGroupOffsets", 0, 0, "share groups"),
    KafkaApi(92, "DeleteShareGroupOffsets", 0, 0, "share groups"),
)

_NO_LOGIN = "As Kafka on a PLAINTEXT listener, where clients do not log in."
_NO_AUTHORIZER = "As Kafka without an authorizer."
_ONE_VOTER = "A node is a quorum of one, and has no listener for other voters."

REFUSES = {
    17: _NO_LOGIN,
    29: _NO_AUTHORIZER,
    30: _NO_AUTHORIZER,
    31: _NO_AUTHORIZER,
    36: _NO_LOGIN,
    38: _NO_LOGIN,
    39: _NO_LOGIN,
    40: _NO_LOGIN,
    41: _NO_LOGIN,
    80: _ONE_VOTER,
    81: _ONE_VOTER,
}
"""APIs that always answer with an error."""

_STREAMS = "Streams groups are not supported yet; Kafka Streams uses the classic protocol."
_SUBSCRIBED = "Advertised while there is a client metrics subscription."
WHY = {
    **REFUSES,
    34: "Moves partitions while they are written and read.",
    43: "With one broker, an election is rarely needed.",
    45: "With one broker, partitions can move only between its log directories.",
    50: "Stored for SASL listeners.",
    51: "Stored for SASL listeners.",
    64: "Only for brokers that are not running.",
    71: _SUBSCRIBED,
    72: _SUBSCRIBED,
    88: _STREAMS,
    89: _STREAMS,
}

NOT_READ = "Known and checked, but nothing reads it yet."


def main() -> int:
    PAGE.write_text(generate(PAGE.read_text()))
    return 0


def generate(page: str) -> str:
    """The page with new tables; everything outside the markers is unchanged."""
    tables = {
        "apis": apis(),
        "topic configs": topic_configs(),
        "broker configs that act": acting_broker_configs(),
        "broker configs that are refused": refused_broker_configs(),
        "broker configs that are accepted": accepted_broker_configs(),
    }
    for name, lines in tables.items():
        page = _replace(page, name, "\n".join(lines))
    return page


def _replace(page: str, name: str, text: str) -> str:
    begin, end = f"<!-- generated: {name} -->\n", f"<!-- end: {name} -->"
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{PAGE.name} has no markers for {name!r}: add the lines {begin.strip()} and {end}")
    return f"{before}{begin}\n{text}\n\n{end}{after}"


# --- APIs


def apis() -> Iterator[str]:
    served = sum(api.key in BY_KEY for api in KAFKA_APIS)
    refused = sum(key in BY_KEY for key in REFUSES)
    yield f"{served} of {len(KAFKA_APIS)} are served; {refused} of these always answer with an error (see above)."
    yield ""
    yield from _table(("Key", "API", "Part", "Kafka 4.3", "Barnabas", "State", "Why"), map(_api_row, KAFKA_APIS))


def _api_row(kafka: KafkaApi) -> tuple[str, ...]:
    ours = BY_KEY.get(kafka.key)
    row = str(kafka.key), kafka.name, kafka.part, _versions(kafka.version_min, kafka.version_max)
    if ours is None:
        return *row, "", "not yet", WHY.get(kafka.key, "")
    versions = _versions(ours.version_min, ours.version_max) + _advertised(ours)
    return *row, versions, _state(kafka, ours), WHY.get(kafka.key, "")


def _state(kafka: KafkaApi, ours: Api) -> str:
    complete = (ours.version_min, ours.version_max) == (kafka.version_min, kafka.version_max)
    if not complete:
        return "serves in part"
    return "refuses" if kafka.key in REFUSES else "serves"


def _advertised(ours: Api) -> str:
    return f" (advertised from {ADVERTISED_MIN[ours.key]})" if ours.key in ADVERTISED_MIN else ""


def _versions(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


# --- configs


def topic_configs() -> Iterator[str]:
    public = [definition for definition in TOPIC_CONFIGS.values() if not definition.shown_only_if_set]
    acting, accepted, refused = (sum(each.effect is effect for each in public) for effect in Effect)
    yield f"{len(public)} configs: {acting} act, {accepted} are accepted, {refused} is refused."
    yield ""
    rows = ((f"`{each.name}`", _default(each), each.effect.value, each.documentation) for each in public)
    yield from _table(("Config", "Default", "State", "What it does"), rows)


def acting_broker_configs() -> Iterator[str]:
    acting = [each for each in _broker_configs(Effect.ACTS) if is_read(each.name)]
    yield f"{len(acting)} configs."
    yield ""
    rows = ((f"`{each.name}`", _default(each), _when(each), each.documentation) for each in acting)
    yield from _table(("Config", "Default", "Changes", "What it does"), rows)


def refused_broker_configs() -> Iterator[str]:
    for each in _broker_configs(Effect.REFUSED):
        yield f"- `{each.name}`"


def accepted_broker_configs() -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for each in _broker_configs(Effect.ACTS):
        if not is_read(each.name):
            by_reason.setdefault(NOT_READ, []).append(each.name)
    for each in _broker_configs(Effect.ACCEPTED):
        by_reason.setdefault(each.documentation, []).append(each.name)
    yield f"{sum(map(len, by_reason.values()))} configs."
    for reason, names in sorted(by_reason.items(), key=lambda item: len(item[1])):
        yield ""
        yield f"**{reason}** ({len(names)})"
        yield ""
        yield ", ".join(f"`{name}`" for name in names)


def _broker_configs(effect: Effect) -> list[ConfigDef]:
    return [each for each in all_broker_configs().values() if each.effect is effect]


def is_read(name: str) -> bool:
    """Whether code outside the definitions uses the config, or a topic config takes its default from it."""
    return name in _topic_defaults() or f'"{name}"' in _code()


@cache
def _topic_defaults() -> frozenset[str]:
    return frozenset(synonym.name for each in TOPIC_CONFIGS.values() for synonym in each.synonyms)


@cache
def _code() -> str:
    definitions = re.compile(r"(broker.*|topic)\.py")
    files = (
        path
        for path in sorted(SOURCES.rglob("*.py"))
        if not (path.parent.name == "configs" and definitions.fullmatch(path.name))
    )
    return "\n".join(path.read_text() for path in files)


def _default(definition: ConfigDef) -> str:
    text = definition.default
    if text is None or text == "":
        return ""
    if definition.type is ConfigType.LIST:
        text = text.replace(",", ", ")
    return f"`{text}`"


def _when(definition: ConfigDef) -> str:
    return "at start" if definition.update is Update.READ_ONLY else "while running"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


if __name__ == "__main__":
    sys.exit(main())
