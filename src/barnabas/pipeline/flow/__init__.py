"""From records to rows to rows: what a project says, as Spark's DataFrames, streaming or not."""
