"""Errors that keep a broker from starting."""


class StartError(Exception):
    """The message is for the person who started the broker: what happened, and what to do next."""
