"""The partitions this broker hosts: leadership, high watermark, waiting requests."""
