"""Apache Kafka's scripts by their own names, with their own flags, output and exit status.

`./bin/kafka-topics.sh --list ...` becomes `barnabas kafka-topics --list ...`. One file per script; `scripts`
lists them, `refused` lists the flags that do nothing here and why.
"""
