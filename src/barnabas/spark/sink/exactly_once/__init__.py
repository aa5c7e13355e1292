"""The exactly-once sink: tasks leave their transactions open, the driver decides, then ends them. Decision 0011."""
