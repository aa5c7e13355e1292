"""What stops a broker from starting, in words for the person who started it."""


class StartError(Exception):
    """The text says what happened and what to do next."""
