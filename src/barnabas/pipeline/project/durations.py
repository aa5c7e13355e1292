"""A duration in a project's files, in the form that Spark takes."""

from dataclasses import dataclass

from barnabas.model.quantities import duration_in_words, parse_duration_ms


@dataclass(frozen=True, order=True)
class Duration:
    ms: int

    @property
    def spark(self) -> str:
        """As `withWatermark`, `window` and triggers take it."""
        return f"{self.ms} milliseconds"

    def __str__(self) -> str:
        return duration_in_words(self.ms)


def duration(text: str) -> Duration:
    """Raises NotADuration if it is not one."""
    return Duration(parse_duration_ms(text))
