"""Write tests/cli/kafka_flags/*.txt: the flags of Kafka's own scripts, from their own --help.

    python tools/list_kafka_flags.py LIBS [SCRIPT ...]

LIBS is a directory with the jars of kafka-tools, kafka_2.13 and their dependencies. Only names are kept, one per line;
a test compares our scripts with them.
"""

import re
import subprocess
import sys
from pathlib import Path

TOOLS = {
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-client-metrics": "org.apache.kafka.tools.ClientMetricsCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-share-consumer": "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-consumer-perf-test": "org.apache.kafka.tools.ConsumerPerformance",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-share-groups": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
}

# Scripts whose first argument is a command; each command has its own help, and our script knows the flags of all.
COMMANDS = {
    "kafka-cluster": ("cluster-id", "unregister", "list-endpoints"),
    "kafka-features": ("describe", "upgrade", "downgrade", "disable", "version-mapping", "feature-dependencies"),
    "kafka-metadata-quorum": ("describe", "add-controller", "remove-controller"),
    "kafka-transactions": (
        "list",
        "describe",
        "describe-producers",
        "abort",
        "find-hanging",
        "forceTerminateTransaction",
    ),
}
_SERVER = {
    "kafka-metadata-quorum": ["--bootstrap-server", "localhost:9092"],
    "kafka-transactions": ["--bootstrap-server", "localhost:9092"],
}
"""Arguments that must come before the command, even for its help."""

# joptsimple begins a line with the flag, or with a star if it is required; argparse4j indents it, and may put a short
# one in front of it or, with the value of the first between them, behind.
FLAG = re.compile(r"^(?: {2}|\* )?(?:(-\w), )?(--[a-z][\w.-]*)(?: [A-Z_]+, (-\w))?", re.MULTILINE)


def main(libs: str, *only: str) -> None:
    target = Path(__file__).parent.parent / "tests" / "cli" / "kafka_flags"
    target.mkdir(exist_ok=True)
    for name, main_class in TOOLS.items():
        if only and name not in only:
            continue
        found: set[str] = set()
        for words in ([], *([*_SERVER.get(name, []), command] for command in COMMANDS.get(name, ()))):
            command = ["java", "-cp", f"{libs}/*", main_class, *words, "--help"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            found |= {flag for group in FLAG.findall(done.stdout + done.stderr) for flag in group if flag}
        if not found:
            sys.exit(f"{main_class} has no flags in its help:\n{done.stderr}")
        (target / f"{name}.txt").write_text("".join(f"{flag}\n" for flag in sorted(found)))
        print(f"{name}: {len(found)} flags")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
