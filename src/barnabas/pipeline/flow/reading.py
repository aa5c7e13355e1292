"""The options with which a source is read, whether as a stream or as a batch."""

from barnabas.pipeline.project.model import Project, Source

_ISOLATION = "kafka.isolation.level"


def source_options(project: Project, source: Source) -> dict[str, str]:
    """As `format("barnabas")` takes them; where to begin is left to whoever reads.

    What pipelines write is committed at once or not at all, so committed records are what they read, unless the project
    says otherwise. Headers are always there: dead letters keep them.
    """
    options = {_ISOLATION: "read_committed", **project.log.spark_options(), **source.options}
    return {**options, "subscribe": source.topic, "includeHeaders": "true"}
