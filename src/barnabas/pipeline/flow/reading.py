"""The options for reading a source, as a stream or as a batch."""

from barnabas.pipeline.project.model import Project, Source

_ISOLATION = "kafka.isolation.level"


def source_options(project: Project, source: Source) -> dict[str, str]:
    """For `format("barnabas")`, without a starting position.

    Pipelines write in transactions, so they read committed records unless the project says otherwise. Headers are
    always included: dead letters keep them.
    """
    options = {_ISOLATION: "read_committed", **project.log.spark_options(), **source.options}
    return {**options, "subscribe": source.topic, "includeHeaders": "true"}
