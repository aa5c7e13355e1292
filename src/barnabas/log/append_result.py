"""The answer to an append: the offsets that the batches have in the log."""

from typing import NamedTuple


class AppendResult(NamedTuple):
    base_offset: int
    last_offset: int
    log_append_time: int
    """-1 unless the topic uses LogAppendTime."""
    log_start_offset: int
    leader_epoch: int
    duplicate: bool
    """A retry of a batch that is in the log at these offsets; nothing was written."""
