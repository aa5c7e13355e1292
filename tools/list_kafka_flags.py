"""Write tests/cli/kafka_flags/*.txt: the flags of Kafka's own scripts, from their own --help.

    python tools/list_kafka_flags.py LIBS

LIBS is a directory with the jars of kafka-tools and kafka_2.13 and all that they need. Only names are kept, one per
line: the test of our scripts compares with them.
"""

import re
import subprocess
import sys
from pathlib import Path

TOOLS = {
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-consumer-perf-test": "org.apache.kafka.tools.ConsumerPerformance",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
}

# joptsimple begins a line with the flag; argparse4j indents it and may put a short one in front.
FLAG = re.compile(r"^(?: {2})?(?:(-\w), )?(--[a-z][\w.-]*)", re.MULTILINE)


def main(libs: str) -> None:
    target = Path(__file__).parent.parent / "tests" / "cli" / "kafka_flags"
    target.mkdir(exist_ok=True)
    for name, main_class in TOOLS.items():
        command = ["java", "-cp", f"{libs}/*", main_class, "--help"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = {flag for pair in FLAG.findall(done.stdout + done.stderr) for flag in pair if flag}
        if not found:
            sys.exit(f"{main_class} has no flags in its help:\n{done.stderr}")
        (target / f"{name}.txt").write_text("".join(f"{flag}\n" for flag in sorted(found)))
        print(f"{name}: {len(found)} flags")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
