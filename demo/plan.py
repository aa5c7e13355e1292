"""The parameters of the simulation: devices, rate, duration, and the share of faulty events."""

import argparse
from dataclasses import dataclass, fields
from typing import Self

TOPIC = "telemetry"
DEAD_LETTERS = "telemetry.dead"
AVERAGES = "averages"
ANOMALIES = "anomalies"
HISTORY = "tables/history"

WINDOW_MS = 60_000
LATE_AFTER_MS = 30_000
WATERMARK_DELAY_MS = 60_000
"""These three are also in the project (demo/project): a test compares them."""


@dataclass(frozen=True, slots=True)
class Plan:
    seed: int = 7
    devices: int = 10_000
    groups: int = 12
    partitions: int = 4
    rate: int = 2_500
    """Events per second, of real time."""
    seconds: float = 24.0
    """The duration, in real time."""
    speed: int = 60
    """Simulated seconds per real second: a window of a minute is full after one second."""
    duplicates: float = 0.02
    """The share of events that are sent twice; likewise for the following fields."""
    late: float = 0.015
    malformed: float = 0.01
    anomalies: float = 0.004

    def as_arguments(self) -> list[str]:
        return [f"--{field.name.replace('_', '-')}={getattr(self, field.name)}" for field in fields(self)]

    @classmethod
    def from_arguments(cls, arguments: list[str]) -> Self:
        parser = argparse.ArgumentParser()
        add_options(parser)
        return cls(**vars(parser.parse_args(arguments)))


def add_options(parser: argparse.ArgumentParser) -> None:
    for field in fields(Plan):
        option = f"--{field.name.replace('_', '-')}"
        parser.add_argument(option, type=type(field.default), default=field.default, help=f"[default: {field.default}]")
