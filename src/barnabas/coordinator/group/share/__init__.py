"""Share groups: their members, their assignments, and which partitions have an initialised share state."""
