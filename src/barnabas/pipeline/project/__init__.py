"""Reads and checks a project folder without Spark: `load` returns a `Project` or raises all its mistakes at once."""

from barnabas.pipeline.project.loader import load
from barnabas.pipeline.project.model import Project
from barnabas.pipeline.project.problems import ProjectInvalid

__all__ = ["Project", "ProjectInvalid", "load"]
