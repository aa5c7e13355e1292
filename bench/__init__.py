"""Barnabas and Apache Kafka side by side: speed, start, memory, recovery, scale. `python -m bench --help`."""
