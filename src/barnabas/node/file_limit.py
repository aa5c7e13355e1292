"""Open files: a broker keeps several per partition, and the soft limit is only the shell's default."""

import resource


def raise_file_limit() -> int:
    """Raise the soft limit to the hard one; returns what is in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        return hard
    return soft
