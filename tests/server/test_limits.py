"""Limits on connections: in total, per address, per second."""

import pytest

from barnabas.server.limits import ConnectionGate, ConnectionLimits, TooManyConnections


def test_the_total_is_bounded_and_a_departure_makes_room() -> None:
    gate = ConnectionGate(ConnectionLimits(total_max=2))
    gate.enter("127.0.0.1", 0)
    gate.enter("127.0.0.2", 0)
    with pytest.raises(TooManyConnections, match=r"max\.connections"):
        gate.enter("127.0.0.3", 0)
    gate.leave("127.0.0.1")
    assert gate.enter("127.0.0.3", 0) == 0


def test_one_address_is_bounded_and_an_override_wins() -> None:
    gate = ConnectionGate(ConnectionLimits(per_ip_max=1, per_ip_overrides={"127.0.0.9": 2}))
    gate.enter("127.0.0.1", 0)
    with pytest.raises(TooManyConnections, match=r"max\.connections\.per\.ip"):
        gate.enter("127.0.0.1", 0)
    gate.enter("127.0.0.9", 0)
    gate.enter("127.0.0.9", 0)
    with pytest.raises(TooManyConnections):
        gate.enter("127.0.0.9", 0)


def test_past_the_creation_rate_connections_wait_their_turn() -> None:
    gate = ConnectionGate(ConnectionLimits(creations_per_second_max=10))
    waits = [gate.enter("127.0.0.1", now=100.0) for _ in range(30)]
    assert waits[:10] == [0.0] * 10
    assert waits[10:] == sorted(waits[10:])
    assert waits[-1] == pytest.approx(2.0)
    assert gate.enter("127.0.0.1", now=200.0) == 0.0
