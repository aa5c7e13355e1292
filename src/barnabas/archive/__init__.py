"""Writes a topic's history: reads committed records over the Kafka port, writes Parquet files and their manifest."""
