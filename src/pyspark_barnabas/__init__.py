"""The package by which Spark finds `format("barnabas")`: it looks for names that begin with pyspark_."""

from barnabas.spark.data_source import BarnabasDataSource as DefaultSource

__all__ = ["DefaultSource"]
