"""How many examples property tests try: enough to find what is broken here and now; `make soak` tries many more."""

import os

_FACTOR = int(os.environ.get("BARNABAS_EXAMPLES", "1"))


def examples(count: int) -> int:
    """For `max_examples`: `count` times what BARNABAS_EXAMPLES says."""
    return count * _FACTOR
