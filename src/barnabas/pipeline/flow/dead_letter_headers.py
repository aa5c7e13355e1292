"""The headers of a dead letter: why it was refused and where it came from. Values are text in UTF-8.

A dead letter of a source has the record's key, value and headers, followed by these. One of a flow has the row as JSON,
and its place only if the row still has it (`_topic`, `_partition`, `_offset`, `_timestamp`).
"""

PREFIX = "barnabas.dead."

ERROR = PREFIX + "error"
"""What is wrong, in words."""
RULE = PREFIX + "rule"
"""The name of the rule; absent if the record does not match its schema."""
FLOW = PREFIX + "flow"
"""The source or flow that refused it."""
PIPELINE = PREFIX + "pipeline"
VERSION = PREFIX + "version"
TOPIC = PREFIX + "topic"
PARTITION = PREFIX + "partition"
OFFSET = PREFIX + "offset"
TIMESTAMP = PREFIX + "timestamp"
"""Of the original record, in milliseconds since 1970."""

ATTEMPT = PREFIX + "attempt"
"""How many times it was sent again. Unlike the others, this header stays on a record that is sent again."""
