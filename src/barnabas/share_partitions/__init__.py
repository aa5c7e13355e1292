"""Share-partitions: deliver the records of one partition to the members of a share group, record by record."""
