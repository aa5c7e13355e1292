"""A running pipeline: its queries, what they write, how they are, how they end. `barnabas.pipeline.run` is above."""
