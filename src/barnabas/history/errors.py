"""What went wrong with a history, and what to do about it."""


class HistoryError(Exception):
    """Something that its reader can correct; `hint` is the next step."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}"


class NoHistory(HistoryError):
    """There is no manifest where one was looked for."""


class BadManifest(HistoryError):
    """A manifest that says something which cannot be true, or in a format that is not ours."""


class BadSchema(HistoryError):
    """A declared schema that cannot be used."""
