"""Turns a project into Spark DataFrames, from records to the rows of each flow, streaming or not."""
