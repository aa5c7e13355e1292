"""The headers of a dead letter: why it is dead and where it came from. Values are text in UTF-8.

A dead letter of a source has the record's own key, value and headers, these behind them. One of a flow has the row as
JSON, and the place only if the row still has it (`_topic`, `_partition`, `_offset`, `_timestamp`).
"""

PREFIX = "barnabas.dead."

ERROR = PREFIX + "error"
"""What is wrong, in words."""
RULE = PREFIX + "rule"
"""The rule's name; not there if the record does not fit its schema."""
FLOW = PREFIX + "flow"
"""The source or the flow that refused it."""
PIPELINE = PREFIX + "pipeline"
VERSION = PREFIX + "version"
TOPIC = PREFIX + "topic"
PARTITION = PREFIX + "partition"
OFFSET = PREFIX + "offset"
TIMESTAMP = PREFIX + "timestamp"
"""Of the record in the log, in milliseconds since 1970."""

ATTEMPT = PREFIX + "attempt"
"""How many times it was sent again. Stays on a record that is sent again, unlike all the others."""
