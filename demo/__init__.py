"""`make demo`: telemetry of 10,000 devices through a pipeline, a proof by event id, and the history replayed.

The broker, the sender and each run of the pipeline are separate processes. `play` starts them, shows their status, and
checks the result: it reads the log and the outputs with a plain Kafka client and pyarrow, and computes in plain Python
what must have happened to every event (`classify`, `proof`). It relies on no counter of Spark or of the pipeline.
"""
