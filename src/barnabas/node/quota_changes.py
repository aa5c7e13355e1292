"""Applies client quotas from the cluster metadata. The modules are imported when the first quota is set."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from barnabas.handlers.services import Quotas, Runtime
from barnabas.metadata.configs import BrokerConfigs
from barnabas.metadata.delta import Delta
from barnabas.metadata.image import ClusterImage
from barnabas.quotas.limits import IP, connection_rates
from barnabas.server.limits import ConnectionGate

if TYPE_CHECKING:
    from barnabas.quotas.rate import Windows

logger = logging.getLogger(__name__)


class QuotaChanges:
    def __init__(
        self, quotas: Quotas, runtime: Runtime, gate: ConnectionGate, configs: Callable[[], BrokerConfigs]
    ) -> None:
        self._quotas = quotas
        self._runtime = runtime
        self._gate = gate
        self._configs = configs
        self._resolving: asyncio.Task[None] | None = None

    def apply(self, image: ClusterImage, delta: Delta) -> None:
        if delta.access_changed:
            self._limit_clients(image)
            self._limit_addresses(connection_rates(image.access.client_quotas))

    def _limit_clients(self, image: ClusterImage) -> None:
        quotas = {key: limits for key, limits in image.access.client_quotas.items() if key[0][0] != IP}
        if not quotas:
            self._quotas.clients = None
            return
        if self._quotas.clients is None:
            from barnabas.quotas.client_quotas import ClientQuotas

            self._quotas.clients = ClientQuotas(
                windows=self._windows("quota.window.num", "quota.window.size.seconds"),
                mutation_windows=self._windows("controller.quota.window.num", "controller.quota.window.size.seconds"),
                now_ms=self._runtime.wait_clock.now_ms,
            )
        self._quotas.clients.set(quotas)

    def _limit_addresses(self, rates: Mapping[str | None, float]) -> None:
        if self._resolving is not None:
            self._resolving.cancel()
            self._resolving = None
        if not rates:
            self._gate.rates = None
            return
        if self._gate.rates is None:
            from barnabas.quotas.connection_rates import ConnectionRates

            self._gate.rates = ConnectionRates(self._windows("quota.window.num", "quota.window.size.seconds"))
        named = {name: rate for name, rate in rates.items() if name is not None and not _is_address(name)}
        self._gate.rates.set({name: rate for name, rate in rates.items() if name not in named})
        if named:
            self._resolving = asyncio.ensure_future(self._resolve(rates, named))

    async def _resolve(self, rates: Mapping[str | None, float], named: Mapping[str, float]) -> None:
        addresses = await self._runtime.workers.run(lambda: {name: _addresses(name) for name in named})
        resolved: dict[str | None, float] = {
            address: named[name] for name, found in addresses.items() for address in found
        }
        if self._gate.rates is not None:
            self._gate.rates.set({**resolved, **{name: rate for name, rate in rates.items() if name not in named}})

    def _windows(self, samples: str, size_seconds: str) -> Windows:
        from barnabas.quotas.rate import Windows

        configs = self._configs()
        return Windows(samples=configs.integer(samples), size_ms=configs.integer(size_seconds) * 1000)


def _is_address(name: str) -> bool:
    import ipaddress

    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _addresses(name: str) -> list[str]:
    try:
        return sorted({str(found[4][0]) for found in socket.getaddrinfo(name, None)})
    except (OSError, UnicodeError) as error:
        logger.warning("the quota of host %s is not applied, because its name cannot be resolved: %s", name, error)
        return []
