"""Answers that depend on nothing but the request and the cluster's image: their bytes are kept until the image changes.

Clients ask for the same few things again and again: the metadata of their topics, the coordinator of their group. A
handler that answers from the image alone says so with `ANSWERS_FROM_IMAGE = True`; if it has to wait, for a topic to be
created, its answer is not kept.
"""

from typing import Final, NamedTuple

ANSWERS_MAX: Final = 500
REQUEST_BYTES_MAX: Final = 2_000
"""Longer requests are not looked up at all."""
ANSWER_BYTES_MAX: Final = 10_000
"""Together they bound the memory to some megabytes; larger answers are rare, and take long for other reasons."""


class Asked(NamedTuple):
    api_key: int
    version: int
    listener_name: str
    local_host: str
    """Brokers are named by their address on the client's listener, which may be the one that it connected to."""
    body: bytes


class KeptAnswers:
    def __init__(self) -> None:
        self._image: object = None
        self._answers: dict[Asked, bytes] = {}

    def get(self, asked: Asked, image: object) -> bytes | None:
        return self._answers.get(asked) if image is self._image else None

    def keep(self, asked: Asked, image: object, answer: bytes) -> None:
        if len(answer) > ANSWER_BYTES_MAX:
            return
        if image is not self._image or len(self._answers) >= ANSWERS_MAX:
            self._answers.clear()
            self._image = image
        self._answers[asked] = answer
