"""The composition root: reads configuration, constructs objects, starts and stops them."""
