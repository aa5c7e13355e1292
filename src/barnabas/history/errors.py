"""Errors about histories, each with what to do next."""


class HistoryError(Exception):
    """An error that the user can correct; `hint` is the next step."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}"


class NoHistory(HistoryError):
    """There is no manifest."""


class BadManifest(HistoryError):
    """A manifest that is inconsistent, or has an unknown format."""


class BadSchema(HistoryError):
    """A declared schema that cannot be used."""
