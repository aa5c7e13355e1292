"""Our Spark source and sink compared with Spark's own Kafka connector: one session, one broker, alternating runs."""
