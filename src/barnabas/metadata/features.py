"""The supported feature levels, and those of a new cluster.

Only features that have an effect are listed: clients and other brokers rely on a finalised feature.
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
"""3.3-IV3, the oldest that Kafka 4 can read."""

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
"""The levels that a new cluster finalises."""

QUORUM_FEATURES: Final[dict[str, int]] = {KRAFT_VERSION: 1}
"""Finalised by the quorum's control records: its voters are recorded in the log."""
