"""Options that are passed to Spark unchanged: their names are checked here, where the line is known."""

from barnabas.pipeline.project.fields import Fields
from barnabas.spark.options.names import KAFKA_PREFIX, SINK, SOURCE, nearest

_OWN = {
    "subscribe": "use `topic`",
    "subscribepattern": "use `topic`",
    "assign": "use `topic`",
    "startingoffsets": "use `start`",
    "columns": "the pipeline selects the columns it needs",
    "topic": "use `topic`",
    "exactlyonce": "topics are always written exactly once",
    "exactlyonceid": "the pipeline chooses it",
}
"""Options that the pipeline sets itself, by name in lower case."""


def kafka_options(fields: Fields, name: str) -> dict[str, str]:
    """Only Kafka's settings, each with the prefix `kafka.`."""
    return _checked(fields, name, (), "Kafka")


def read_options(fields: Fields, name: str) -> dict[str, str]:
    return _checked(fields, name, SOURCE, "a source")


def write_options(fields: Fields, name: str) -> dict[str, str]:
    return _checked(fields, name, SINK, "a topic's output")


def _checked(fields: Fields, name: str, known: tuple[str, ...], whose: str) -> dict[str, str]:
    allowed = [each for each in known if each.lower() not in _OWN]
    found: dict[str, str] = {}
    for option, value in fields.options(name).items():
        lower = option.lower()
        if lower == f"{KAFKA_PREFIX}bootstrap.servers":
            fields.report.add(value.place, f"`{option}` cannot be set here", "use `log.bootstrap`")
        elif lower.startswith(KAFKA_PREFIX) or lower in [each.lower() for each in allowed]:
            found[option] = value.text
        elif lower in _OWN and known:
            fields.report.add(value.place, f"`{option}` cannot be set here", f"remove it: {_OWN[lower]}")
        else:
            guess = nearest(option, allowed)
            hint = f"did you mean `{guess}`?" if guess else f"Kafka's settings begin with kafka.: `kafka.{option}`"
            fields.report.add(value.place, f"`{option}` is not an option of {whose}", hint)
    return found
