"""Partitions on disk, in Apache Kafka's formats: segments, indexes, producer state, recovery, retention.

`PartitionLog` is one partition, `LogStore` all partitions of a broker over its log directories. Nothing here knows an
event loop: calls that wait for the device (fsync, cold reads, deletes) are handed out as jobs for a worker.
"""
