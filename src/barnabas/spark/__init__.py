"""PySpark source and sink for any Kafka, found by Spark as format("barnabas")."""
