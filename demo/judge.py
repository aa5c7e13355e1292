"""Reads the log and the outputs, and makes the proof."""

from dataclasses import dataclass, field
from pathlib import Path

from demo.classify import V1, V2, LogRecord, Verdict, classify
from demo.outputs import read_log, read_outputs
from demo.plan import Plan
from demo.proof import Note, Outputs, Proof, prove, read_notes
from demo.telemetry import Device, devices_of

LOGIC = {"v1": V1, "v2": V2}


@dataclass
class Result:
    """The outputs of each version, and their proofs."""

    proofs: dict[str, Proof] = field(default_factory=dict)
    outputs: dict[str, Outputs] = field(default_factory=dict)


@dataclass
class Judge:
    """The log is read once, when the sender is done; the outputs are read again for each proof."""

    plan: Plan
    servers: str
    project: Path
    notes_file: Path
    notes: list[Note] = field(default_factory=list)
    log: list[LogRecord] = field(default_factory=list)
    verdict: Verdict = field(default_factory=Verdict)

    def read_log(self) -> None:
        self.notes = read_notes(self.notes_file)
        self.log = read_log(self.servers)
        self.verdict = classify(self.log)

    def devices(self) -> dict[str, Device]:
        return {device.name: device for device in devices_of(self.plan)}

    def outputs(self, version: str) -> Outputs:
        return read_outputs(self.servers, self.project, version)

    def prove(self, version: str, outputs: Outputs | None = None) -> Proof:
        found = self.outputs(version) if outputs is None else outputs
        return prove(self.notes, self.log, self.verdict, found, self.devices(), LOGIC[version])
