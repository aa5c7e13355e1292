"""`python -m`: kills Spark and the broker during an exactly-once query, at random times and at named steps."""
