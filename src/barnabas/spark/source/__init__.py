"""Reading topics: which offsets, in which tasks, as batch and as stream."""
