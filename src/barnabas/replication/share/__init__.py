"""Share-partitions: one partition's records handed out to the members of a share group, one by one and only once."""
