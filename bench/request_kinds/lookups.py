"""What clients look up."""

from typing import Final

from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from bench.request_kinds.kind import EQUAL, RequestKind, repeated
from bench.request_kinds.topics import GROUPS, OTHER_TOPICS, PARTITIONS, TOPIC

_LATEST: Final = -1


def _metadata(_: int) -> list[MetadataRequest]:
    names = (TOPIC, *OTHER_TOPICS)
    return [MetadataRequest(topics=tuple(MetadataRequestTopic(name=name) for name in names))]


def _find_coordinator(_: int) -> list[FindCoordinatorRequest]:
    return [FindCoordinatorRequest(key_type=0, coordinator_keys=(group,)) for group in GROUPS]


def _list_offsets(_: int) -> list[ListOffsetsRequest]:
    return [
        ListOffsetsRequest(
            topics=(
                ListOffsetsTopic(
                    name=TOPIC, partitions=(ListOffsetsPartition(partition_index=partition, timestamp=_LATEST),)
                ),
            )
        )
        for partition in range(PARTITIONS)
    ]


def _api_versions(_: int) -> list[ApiVersionsRequest]:
    return [ApiVersionsRequest(client_software_name="bench", client_software_version="1")]


KINDS: Final = (
    RequestKind("Metadata 12 of 10 topics", repeated("metadata", 12, _metadata), EQUAL),
    RequestKind("FindCoordinator 4", repeated("find_coordinator", 4, _find_coordinator)),
    RequestKind("ListOffsets 7 of 1", repeated("list_offsets", 7, _list_offsets)),
    RequestKind("ApiVersions 4", repeated("api_versions", 4, _api_versions)),
)
