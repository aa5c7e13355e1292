"""Runs flows: a query reads views by name, a function is called with the inputs that its parameters name."""

import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from barnabas.pipeline.flow.mistakes import in_function, in_query
from barnabas.pipeline.project.flow_section import ALL_INPUTS, SESSION
from barnabas.pipeline.project.model import Flow, Project, PythonFunction, SqlQuery, Table, TableFormat
from barnabas.spark.errors import UserError


def table_rows(spark: SparkSession, table: Table) -> DataFrame:
    """The rows of a static table."""
    reader = spark.read.schema(table.schema.ddl) if table.schema else spark.read
    if table.format is TableFormat.CSV:
        return reader.option("header", "true").option("mode", "FAILFAST").csv(table.path)
    if table.format is TableFormat.JSON:
        return reader.option("mode", "FAILFAST").json(table.path)
    return reader.parquet(table.path)


def flow_rows(project: Project, flow: Flow, spark: SparkSession, inputs: Mapping[str, DataFrame]) -> DataFrame:
    """The rows of a flow; `inputs` by name."""
    if isinstance(flow.transform, SqlQuery):
        with in_query(flow, flow.transform):
            return spark.sql(flow.transform.text)
    return _call_function(project, flow, flow.transform, spark, inputs)


def _call_function(
    project: Project,
    flow: Flow,
    function: PythonFunction,
    spark: SparkSession,
    inputs: Mapping[str, DataFrame],
) -> DataFrame:
    by_name = {name.lower(): rows for name, rows in inputs.items()}
    arguments: dict[str, Any] = {}
    for name in function.parameters:
        if name == SESSION:
            arguments[name] = spark
        elif name == ALL_INPUTS:
            arguments[name] = dict(inputs)
        elif name.lower() in by_name:
            arguments[name] = by_name[name.lower()]
    with in_function(flow, function, project), _import_path(function.file.parent):
        found = _load_function(function.file, function.function)(**arguments)
        if not isinstance(found, DataFrame):
            raise UserError(
                f"flow `{flow.name}`: the function `{function.function}` in {function.file.name} returns "
                f"{'nothing' if found is None else type(found).__name__}, not a DataFrame",
                "return the DataFrame of the last step: `return rows.where(...)`",
            )
        return found


@contextmanager
def _import_path(folder: Path) -> Iterator[None]:
    """Let a flow import the files in its folder."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _load_function(file: Path, function: str) -> Callable[..., DataFrame]:
    """Load the function from the current file.

    User-defined functions in it are pickled by value: Spark's workers do not have these files.
    """
    before = set(sys.modules)
    _forget_modules_of(file.parent)
    module = _module(file)
    _pickle_by_value(module)
    for name in set(sys.modules) - before:
        if _is_in(sys.modules[name], file.parent):
            _pickle_by_value(sys.modules[name])
    found: Callable[..., DataFrame] = getattr(module, function)
    return found


def _module(file: Path) -> ModuleType:
    # With a prefix: a flow may have the name of a Python module.
    name = f"barnabas_flow_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise UserError(f"{file.name} is not a Python file", "rename it to end with .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _pickle_by_value(module: ModuleType) -> None:
    from pyspark.cloudpickle import register_pickle_by_value

    register_pickle_by_value(module)  # type: ignore[no-untyped-call]  # it has no types


def _forget_modules_of(folder: Path) -> None:
    """An earlier state of them may have been loaded in this process."""
    for name, module in list(sys.modules.items()):
        if _is_in(module, folder):
            del sys.modules[name]


def _is_in(module: ModuleType, folder: Path) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and Path(file).parent == folder
