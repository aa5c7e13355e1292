"""Dead letters that were sent again come back through the source's topic, which others read too.

Such a record names the source and version it is for. All others have processed the original, or will when they replay
the log, and must not see it a second time.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from barnabas.pipeline.flow import dead_letter_headers as names
from barnabas.pipeline.project.model import Project, Source


def for_us(records: DataFrame, project: Project, source: Source, version: str) -> DataFrame:
    """Without the records that were sent again for another source, version or pipeline."""

    def differs(name: str, wanted: str) -> Column:
        return fn.exists("headers", lambda header: (header["key"] == name) & (header["value"] != _bytes(wanted)))

    was_sent_again = fn.exists("headers", lambda header: header["key"] == names.ATTEMPT)
    for_others = (
        differs(names.FLOW, source.name) | differs(names.VERSION, version) | differs(names.PIPELINE, project.name)
    )
    return records.where(~fn.coalesce(was_sent_again & for_others, fn.lit(False)))


def _bytes(text: str) -> Column:
    return fn.encode(fn.lit(text), "utf-8")
