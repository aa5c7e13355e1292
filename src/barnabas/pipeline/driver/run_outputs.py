"""The topics and tables to which the flows of a run write: checked, taken for the version, and created."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from barnabas.client.cluster import Cluster
from barnabas.pipeline.driver import claims, owner, tables, topics
from barnabas.pipeline.driver.outputs import output_of
from barnabas.pipeline.driver.parts import has_written
from barnabas.pipeline.driver.topics import OutputTopic
from barnabas.pipeline.project.model import Flow, Project, TableOutput, TopicOutput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class RunOutputs:
    """Its methods are called in this order. It is the only one that changes the version's claims."""

    def __init__(self, project: Project, flows: Sequence[Flow], version: str, *, into_existing: bool) -> None:
        """`into_existing`: also take topics, tables and a version that belong to others."""
        self._project = project
        self._flows = flows
        self._version = version
        self._into_existing = into_existing
        self._state_folder = project.state_folder(version)
        self._claims = claims.read(self._state_folder)

    def check(self, cluster: Cluster) -> None:
        """Refuse a version that another folder runs, and topics that have other records."""
        if not self._into_existing:
            owner.check(cluster, self._project, self._version, self._claims.id)
            topics.check_outputs(cluster, self._topics(), self._claims.topics)

    def claim_local_tables(self) -> None:
        self._claim_tables(tables.claim, local=True)
        claims.write(self._state_folder, self._claims)

    def claim_remote_tables(self, session: "SparkSession", columns: Mapping[str, Mapping[str, str]]) -> None:
        """Tables that only Spark can reach. `columns`: those of all tables, by flow, which only Spark knows."""
        known = self._claims.columns
        for flow, named in columns.items():
            tables.check_columns(flow, named, known.get(flow, {}))
        self._claims = replace(self._claims, columns={**known, **columns})
        self._claim_tables(partial(tables.claim_remote, session), local=False)

    def create(self, cluster: Cluster, *, dead_letters: bool) -> list[str]:
        """Register this folder, and create missing topics; returns their names."""
        wanted = self._topics()
        if dead_letters:
            wanted.append(OutputTopic(self._project.dead_letters.topic, "dead letters", (), False, is_shared=True))
        owner.register(cluster, self._project, self._version, self._claims.id, take_over=self._into_existing)
        created = topics.create_outputs(cluster, wanted)
        self._claims = replace(self._claims, topics={**self._claims.topics, **created.ids})
        claims.write(self._state_folder, self._claims)
        return created.new

    def remove_leftovers(self) -> None:
        """Files of unfinished batches."""
        for _, output in self._tables(local=True):
            tables.remove_leftovers(output.path)

    def _topics(self) -> list[OutputTopic]:
        found = []
        for flow in self._flows:
            output = output_of(flow, self._version)
            if isinstance(output, TopicOutput):
                inputs = tuple(source.topic for source in self._project.sources_of(flow.name))
                found.append(OutputTopic(output.topic, f"flow `{flow.name}`", inputs, self._has_written(flow)))
        return found

    def _tables(self, *, local: bool) -> list[tuple[Flow, TableOutput]]:
        outputs = ((flow, output_of(flow, self._version)) for flow in self._flows)
        return [
            (flow, output)
            for flow, output in outputs
            if isinstance(output, TableOutput) and tables.is_local(output.path) is local
        ]

    def _claim_tables(self, claim: Callable[..., str], *, local: bool) -> None:
        known = self._claims.tables
        claimed = {
            output.path: claim(
                output.path,
                flow.name,
                known.get(output.path),
                has_written=self._has_written(flow),
                into_existing=self._into_existing,
            )
            for flow, output in self._tables(local=local)
        }
        self._claims = replace(self._claims, tables={**known, **claimed})

    def _has_written(self, flow: Flow) -> bool:
        return has_written(self._project.checkpoint(flow.name, self._version))
