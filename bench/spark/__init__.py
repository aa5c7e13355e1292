"""Our Spark source and sink beside Spark's own Kafka connector: one session, one broker, turns that alternate."""
