"""The exactly-once sink: tasks leave their transactions open, the driver decides, then ends them. Decision 0011."""

from barnabas.spark.sink.exactly_once.delivery import ExactlyOnce as ExactlyOnce
from barnabas.spark.sink.exactly_once.delivery import exactly_once_delivery as exactly_once_delivery
