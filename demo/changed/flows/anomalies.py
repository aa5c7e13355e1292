"""Readings that are far from what is usual in their group."""

from pyspark.sql import DataFrame

TOLERANCE = 10.0


def anomalies(grouped: DataFrame) -> DataFrame:
    return grouped.where(f"abs(value - usual) > {TOLERANCE}").select("id", "device", "device_group", "at", "value")
