"""The format of a topic's history on disk: Parquet files and their manifest. Reading only, without pyspark."""
