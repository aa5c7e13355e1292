"""The feature levels this version of Barnabas knows, and those a new cluster starts with.

Only what acts here is listed: a finalised feature is a promise to clients and to other brokers.
"""

from typing import Final

METADATA_VERSION: Final = "metadata.version"
KRAFT_VERSION: Final = "kraft.version"
ELIGIBLE_LEADER_REPLICAS_VERSION: Final = "eligible.leader.replicas.version"
TRANSACTION_VERSION: Final = "transaction.version"
GROUP_VERSION: Final = "group.version"
SHARE_VERSION: Final = "share.version"

METADATA_VERSION_4_3_IV0: Final = 30
METADATA_VERSION_MIN: Final = 7
"""3.3-IV3, the oldest that Kafka 4 still reads."""

SUPPORTED_FEATURES: Final[dict[str, tuple[int, int]]] = {
    METADATA_VERSION: (METADATA_VERSION_MIN, METADATA_VERSION_4_3_IV0),
    KRAFT_VERSION: (0, 1),
    GROUP_VERSION: (0, 1),
    TRANSACTION_VERSION: (0, 2),
    SHARE_VERSION: (0, 1),
    ELIGIBLE_LEADER_REPLICAS_VERSION: (0, 1),
}
"""Lowest and highest level, by feature."""

INITIAL_FEATURES: Final[dict[str, int]] = {
    METADATA_VERSION: METADATA_VERSION_4_3_IV0,
    GROUP_VERSION: 1,
    TRANSACTION_VERSION: 2,
    SHARE_VERSION: 1,
    ELIGIBLE_LEADER_REPLICAS_VERSION: 1,
}
"""What a new cluster records as finalised."""

QUORUM_FEATURES: Final[dict[str, int]] = {KRAFT_VERSION: 1}
"""What the quorum's own control records finalise: its voters are recorded, or it would not run."""
