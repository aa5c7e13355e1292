"""Requests under way: one at a time to each peer, and a pause after each that failed.

An answer counts only if its request is the last one sent to that peer, in the same role: so duplicates, and answers
from before an election, are ignored.
"""

from msgspec import Struct

from barnabas.raft.core.messages import Request
from barnabas.raft.core.ready import Peer, Send


class _Sent(Struct):
    send: Send
    deadline_ms: int


class Requests:
    def __init__(self, *, timeout_ms: int, backoff_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._backoff_ms = backoff_ms
        self._last_id = 0
        self._sent: dict[int, _Sent] = {}
        self._backoff_until_ms: dict[int, int] = {}

    def is_ready(self, peer_id: int, now_ms: int) -> bool:
        sent = self._sent.get(peer_id)
        if sent is not None and now_ms < sent.deadline_ms:
            return False
        return now_ms >= self._backoff_until_ms.get(peer_id, now_ms)

    def under_way_until(self, now_ms: int) -> int | None:
        """When the first of those that are waited for times out; None: there are none."""
        return min((sent.deadline_ms for sent in self._sent.values() if now_ms < sent.deadline_ms), default=None)

    def next_ms(self, peer_id: int) -> int:
        """When it will be ready, if nothing else happens; 0: it is."""
        sent = self._sent.get(peer_id)
        return max(0 if sent is None else sent.deadline_ms, self._backoff_until_ms.get(peer_id, 0))

    def send(self, peer: Peer, request: Request, now_ms: int) -> Send:
        self._last_id += 1
        send = Send(self._last_id, peer, request)
        self._sent[peer.id] = _Sent(send, now_ms + self._timeout_ms)
        return send

    def finish(self, request_id: int) -> Send | None:
        """None if nobody waits for it any more."""
        for peer_id, sent in self._sent.items():
            if sent.send.request_id == request_id:
                del self._sent[peer_id]
                self._backoff_until_ms.pop(peer_id, None)
                return sent.send
        return None

    def fail(self, request_id: int, now_ms: int) -> Send | None:
        send = self.finish(request_id)
        if send is not None:
            self._backoff_until_ms[send.to.id] = now_ms + self._backoff_ms
        return send

    def back_off(self, peer_id: int, now_ms: int) -> None:
        self._backoff_until_ms[peer_id] = now_ms + self._backoff_ms

    def reset(self) -> None:
        self._sent.clear()
        self._backoff_until_ms.clear()
