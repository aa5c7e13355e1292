"""Partitions on disk, in Apache Kafka's formats: segments, indexes, producer state, recovery, retention.

`PartitionLog` is one partition, `LogStore` all partitions of a broker in its log directories. Nothing here depends on
an event loop: work that waits for the device (fsync, cold reads, deletions) is returned as jobs for a worker.

    PartitionLog     the offsets of a log, appends and reads, truncation
      Segments       the list of segments; finds the one with an offset
      SegmentStore   their files: rolls, truncates, replaces and deletes segments
      FlushState     what is synced
      ProducerState  retries, gaps and open transactions of producers
      EpochCache     where each leader epoch begins
    Segment          one segment, active or sealed
      SegmentFiles, SegmentBatches, SegmentIndexes, BatchFinder, BatchTail
"""
