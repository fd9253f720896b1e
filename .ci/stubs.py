"""Give the wheel the module's types.

A single module cannot carry `py.typed`, but a stub package can stand beside it.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Stubs(BuildHookInterface):
    """Include pmservice.py a second time, as the stubs that type checkers read."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Copy the module, because the build includes a file of the project under one name only."""
        self.folder = tempfile.mkdtemp()
        if version != "editable":  # there the copy would grow stale
            copy = shutil.copy(Path(self.root, "pmservice.py"), self.folder)
            build_data["force_include"][copy] = "pmservice-stubs/__init__.pyi"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the copy."""
        shutil.rmtree(self.folder)
