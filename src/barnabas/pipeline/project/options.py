"""Options that go to Spark as they are: their names are checked here, where a line and a column can be named."""

from barnabas.pipeline.project.fields import Fields
from barnabas.spark.options.names import KAFKA_PREFIX, SINK, SOURCE, nearest

_OWN = {
    "subscribe": "`topic` says what is read",
    "subscribepattern": "`topic` says what is read",
    "assign": "`topic` says what is read",
    "startingoffsets": "`start` says where it begins",
    "columns": "the pipeline asks for the columns it needs",
    "topic": "`topic` says where it goes",
    "exactlyonce": "topics are always written exactly once",
    "exactlyonceid": "the pipeline chooses it",
}
"""What the pipeline sets itself, by its name in lower case."""


def kafka_options(fields: Fields, name: str) -> dict[str, str]:
    """Only Kafka's own, each beginning with `kafka.`."""
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
            fields.report.add(value.place, f"`{option}` cannot be set here", "`log.bootstrap` says it")
        elif lower.startswith(KAFKA_PREFIX) or lower in [each.lower() for each in allowed]:
            found[option] = value.text
        elif lower in _OWN and known:
            fields.report.add(value.place, f"`{option}` cannot be set here", f"remove it: {_OWN[lower]}")
        else:
            guess = nearest(option, allowed)
            hint = f"did you mean `{guess}`?" if guess else f"Kafka's settings begin with kafka.: `kafka.{option}`"
            fields.report.add(value.place, f"`{option}` is not an option of {whose}", hint)
    return found
