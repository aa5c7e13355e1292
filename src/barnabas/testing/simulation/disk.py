"""The disk of one node: a `SimulatedDisk` that only the running process can use, with each change in the trace."""

from collections.abc import Callable

from barnabas.testing.disk import Fault, Operation, PowerCut, SimulatedDisk
from barnabas.testing.disk_nodes import FileNode
from barnabas.testing.simulation.errors import ProcessEnded
from barnabas.testing.simulation.trace import describe_bytes


class NodeDisk(SimulatedDisk):
    def __init__(
        self,
        *,
        now_ms: Callable[[], int],
        trace: Callable[[str], None],
        is_in_use: Callable[[], bool],
        on_power_cut: Callable[[], None],
    ) -> None:
        super().__init__(now_ms=now_ms)
        self._trace = trace
        self._is_in_use = is_in_use
        self._on_power_cut = on_power_cut

    def enter(self, operation: Operation, path: str) -> Fault | None:
        if not self._is_in_use():
            raise ProcessEnded
        self._trace(f"{operation} {path}")
        try:
            return super().enter(operation, path)
        except PowerCut:
            self._on_power_cut()
            raise

    def write(self, path: str, node: FileNode, position: int, data: bytes) -> None:
        self._trace(f"at {position} {describe_bytes(data)}")
        super().write(path, node, position, data)
