"""`barnabas spark`: what Spark needs on this machine."""

import sys

from barnabas.cli.apps import group_app
from barnabas.cli.output import say
from barnabas.cli.pipeline_options import readable

app = group_app("spark")


@app.command()
def prepare() -> None:
    """Store Spark's classes so that later starts take half the time. Once per environment; takes 200 MB."""
    with readable(trace=False):
        from barnabas.spark import class_archive

        say("Starting Spark once, to store the classes that it loads ...")
        kept = class_archive.make()
        say(f"Stored in {kept} ({kept.stat().st_size >> 20} MB).")


def suggest_preparing() -> None:
    """Suggest `barnabas spark prepare`, if it has not been run."""
    if not sys.stderr.isatty():
        return
    from barnabas.spark import class_archive
    from barnabas.spark.java import find_java

    if not class_archive.java_options(find_java()):
        say("hint: Spark starts in half the time after: barnabas spark prepare")
