"""`barnabas spark`: what Spark needs on this machine."""

import sys

from barnabas.cli.apps import group_app
from barnabas.cli.output import say
from barnabas.cli.pipeline_options import readable

app = group_app("spark")


@app.command()
def prepare() -> None:
    """Keep Spark's classes for later starts, which take half the time then. Once for each environment; 200 MB."""
    with readable(trace=False):
        from barnabas.spark import class_archive

        say("Spark starts once, and Java keeps the classes that it has read ...")
        kept = class_archive.make()
        say(f"Kept in {kept} ({kept.stat().st_size >> 20} MB).")


def suggest_preparing() -> None:
    """To people who have just waited for a start, if that can become shorter."""
    if not sys.stderr.isatty():
        return
    from barnabas.spark import class_archive
    from barnabas.spark.java import find_java

    if not class_archive.java_options(find_java()):
        say("Spark starts in half the time once you have run: barnabas spark prepare")
