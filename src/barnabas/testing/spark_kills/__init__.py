"""Kill Spark and the broker while an exactly-once query runs, at random moments and at named steps. `python -m` it."""
