"""The package by which Spark finds format("barnabas") without being told."""
