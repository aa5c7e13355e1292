"""One replica set: who leads, what is committed, who waits for it."""
