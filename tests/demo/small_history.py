"""A small log, made without a broker, and the outputs of a correct pipeline for it."""

from dataclasses import dataclass

from demo.classify import V1, LogRecord, Verdict, anomalies, averages, classify
from demo.plan import TOPIC, Plan
from demo.proof import DeadLetter, HistoryRow, Note, Outputs, Proof, prove
from demo.telemetry import Device, closing, devices_of, events

PLAN = Plan(devices=50, groups=3, rate=200, seconds=10, duplicates=0.05, late=0.05, malformed=0.05, anomalies=0.02)
START_MS = 1_767_268_800_000
PARTITIONS = 3


@dataclass
class SmallHistory:
    notes: list[Note]
    log: list[LogRecord]
    verdict: Verdict
    devices: dict[str, Device]

    def outputs(self) -> Outputs:
        values = {record.place: record.value for record in self.log}
        return Outputs(
            history=[
                HistoryRow(id_, min(self.verdict.places[id_]), self.devices[reading.device].group, reading.value)
                for id_, reading in self.verdict.counted.items()
            ],
            averages=list(averages(self.verdict, self.devices, V1).items()),
            anomalies=sorted(anomalies(self.verdict, self.devices, V1)),
            dead_letters=[DeadLetter(TOPIC, place, values[place]) for place in self.verdict.dead],
        )

    def prove(self, outputs: Outputs) -> Proof:
        return prove(self.notes, self.log, self.verdict, outputs, self.devices, V1)


def small_history(plan: Plan = PLAN) -> SmallHistory:
    ends = [0] * PARTITIONS
    notes: list[Note] = []
    log: list[LogRecord] = []
    for event in [*events(plan, START_MS), *closing(plan, START_MS)]:
        partition = int(event.device[1:]) % PARTITIONS
        place = partition, ends[partition]
        ends[partition] += 1
        notes.append(Note(event.id, event.kind, place))
        log.append(LogRecord(place, event.timestamp_ms, event.id, event.value))
    log.sort()
    return SmallHistory(notes, log, classify(log), {device.name: device for device in devices_of(plan)})
