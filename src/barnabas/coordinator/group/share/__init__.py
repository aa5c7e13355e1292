"""Share groups: who is in them, which partitions they read, and which of those have a state to begin with."""
