"""Dead letters that were sent again come back through the source's topic, where others read them too.

Such a record says whom it is for. Everybody else has judged the original already, or will when it replays the log: it
must not see the record a second time.
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
