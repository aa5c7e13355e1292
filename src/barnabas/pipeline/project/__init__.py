"""What a project folder says, read and checked without Spark: `load` gives a `Project` or all its mistakes at once."""

from barnabas.pipeline.project.loader import load
from barnabas.pipeline.project.model import Project
from barnabas.pipeline.project.problems import ProjectInvalid

__all__ = ["Project", "ProjectInvalid", "load"]
