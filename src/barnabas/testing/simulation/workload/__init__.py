"""A seeded workload on simulated brokers, with faults, and the checks of what it has seen."""
