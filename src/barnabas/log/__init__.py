"""Partitions on disk, in Apache Kafka's formats: segments, indexes, producer state, recovery, retention.

`PartitionLog` is one partition, `LogStore` all partitions of a broker in its log directories. Nothing here depends on
an event loop: work that waits for the device (fsync, cold reads, deletions) is returned as jobs for a worker.
"""
