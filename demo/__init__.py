"""`make demo`: telemetry of 10,000 devices through a pipeline, a proof by event id, and the history replayed.

The broker, the sender and each run of the pipeline are processes of their own. The stage (`play`) starts them, shows
how they are, and judges in the end: it reads the log and the outputs with a plain Kafka client and pyarrow, and decides
about every single event in plain Python what must have become of it (`classify`, `proof`). No counter of Spark or of
the pipeline is believed.
"""
