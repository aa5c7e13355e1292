"""A replica that knows the epoch, but cannot follow a leader in it: it waits for one, or for the time to campaign.

It may have voted in this epoch; one vote in each epoch is all it has.
"""

from msgspec import Struct


class Unattached(Struct):
    election_deadline_ms: int
    """When a voter asks for pre-votes. A replica that is no voter searches for the leader instead."""
