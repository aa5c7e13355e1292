"""Reading topics: which offsets, which tasks, which bytes."""
