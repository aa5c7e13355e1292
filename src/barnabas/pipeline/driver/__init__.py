"""A running pipeline: its queries, their outputs, their status, and how they stop. Used by `barnabas.pipeline.run`."""
