"""Writes the history of topics: reads committed records as a Kafka client, writes Parquet files and a manifest."""
