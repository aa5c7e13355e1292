"""Decides for the cluster: topics, partitions, configs, brokers, producer ids. Pure functions, and one shell."""
