"""Pipeline projects: declare, preview, test, run, replay. Built on `barnabas.spark`; works against any Kafka."""
