"""What a topic's history is on disk: Parquet files and the manifest that names them. Reading only, and no pyspark."""
