"""Builds the C module of `barnabas.records` while Barnabas is installed. Without a C compiler it is left out.

Everything works without it; `records/innermost.py` says what takes its place.
"""

import tempfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MODULE = "barnabas.records._compiled"
SOURCE = "src/barnabas/records/_compiled.c"


class CompiledLoops(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        try:
            _build()
        except Exception as error:  # whatever a missing or broken compiler, or missing headers, lead to
            self.app.display_warning(f"{SOURCE} cannot be compiled: slower Python code takes its place ({error})")
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True


def _build() -> None:
    from setuptools import Distribution, Extension

    distribution = Distribution({"ext_modules": [Extension(MODULE, [SOURCE])], "package_dir": {"": "src"}})
    command = distribution.get_command_obj("build_ext")
    with tempfile.TemporaryDirectory() as objects:
        command.inplace = True
        command.build_temp = objects
        command.ensure_finalized()
        command.run()
