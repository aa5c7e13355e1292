"""Classic groups: members join and sync, and one of them assigns the partitions."""
