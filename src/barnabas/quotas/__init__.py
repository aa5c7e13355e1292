"""Client quotas: which limit applies to whom, how usage is measured, and how long to throttle."""
