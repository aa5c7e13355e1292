"""One direction of one TCP connection: everything arrives once and in order, however often packets are lost.

While the way is cut, or the other host has no power, the oldest packet is sent again and again, less and less often, as
Linux does: after an outage of ten seconds it may take another ten until bytes flow. After 15 minutes TCP gives up.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from barnabas.testing.simulation.network import Host, Network

RETRY_US_MIN: Final = 200_000
RETRY_US_MAX: Final = 120_000_000
GIVE_UP_US: Final = 924_000_000
"""Linux: net.ipv4.tcp_retries2 = 15."""


class Pipe:
    def __init__(self, network: Network, source: Host, target: Host, on_give_up: Callable[[], None]) -> None:
        self._network = network
        self._source = source
        self._target = target
        self._on_give_up = on_give_up
        self._boot = source.boots
        self._on_the_way: deque[Callable[[], None]] = deque()
        self._last_arrival_us = 0
        self._round = 0
        """Packets of earlier rounds were lost."""
        self._lost_since_us: int | None = None
        self._retry_us = RETRY_US_MIN

    def send(self, arrive: Callable[[], None]) -> None:
        self._on_the_way.append(arrive)
        if self._lost_since_us is None:
            self._depart()

    def send_reset(self, arrive: Callable[[], None]) -> None:
        """After everything on its way; it is not sent again if it is lost."""
        if self._lost_since_us is not None:
            self.drop()
            return

        def arrive_if_open() -> None:
            if self._network.is_open(self._source, self._target):
                arrive()

        self._on_the_way.append(arrive_if_open)
        self._depart()

    def drop(self) -> None:
        """The connection is over on this side."""
        self._on_the_way.clear()
        self._round += 1

    def _depart(self) -> None:
        scheduler = self._network.scheduler
        arrival_us = scheduler.now_us + self._network.delay_us(self._source, self._target)
        self._last_arrival_us = max(arrival_us, self._last_arrival_us + 1)
        scheduler.call_at(self._last_arrival_us, partial(self._arrive, self._round))

    def _arrive(self, sent_in_round: int) -> None:
        if sent_in_round != self._round or not self._on_the_way:
            return
        if self._network.is_open(self._source, self._target):
            self._on_the_way.popleft()()
        else:
            self._lose()

    def _lose(self) -> None:
        self._round += 1
        if self._lost_since_us is None:
            self._lost_since_us = self._network.scheduler.now_us
            self._retry_us = RETRY_US_MIN
        self._network.counters["lost packets"] += 1
        self._network.scheduler.call_after(self._retry_us, partial(self._retry, self._round))

    def _retry(self, of_round: int) -> None:
        if of_round != self._round or self._lost_since_us is None or self._boot != self._source.boots:
            return
        if self._network.is_open(self._source, self._target):
            self._lost_since_us = None
            for _ in self._on_the_way:
                self._depart()
        elif self._network.scheduler.now_us - self._lost_since_us >= GIVE_UP_US:
            self.drop()
            self._on_give_up()
        else:
            self._retry_us = min(2 * self._retry_us, RETRY_US_MAX)
            self._network.scheduler.call_after(self._retry_us, partial(self._retry, of_round))
