"""Servers in processes of their own, as the other scripts start them."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("PMSERVICE_", "PYTHON"))
}


def command(*words, project=ROOT) -> list[str]:
    """Return the command line that runs the program with these arguments."""
    return [sys.executable, str(project / "pmservice.py"), *map(str, words)]


class Server:
    """A process that listens on a port of 127.0.0.1, as the first line on its stdout says.

    `errors` is the file that gets its stderr. The end of a `with` block stops the process.
    """

    def __init__(self, words, errors, **options):
        self.errors = errors
        options = {"env": ENVIRONMENT, "stdout": subprocess.PIPE, "stderr": errors, **options}
        self.process = subprocess.Popen(words, **options)
        try:
            self.port = self.read_port()
        except BaseException:
            self.end(signal.SIGKILL)
            raise

    def read_port(self) -> int:
        """Return the port that the first line of stdout names. Raise RuntimeError if none comes."""
        ready, _, _ = select.select([self.process.stdout], [], [], 30)
        line = self.process.stdout.readline().decode() if ready else ""
        if not (match := re.fullmatch(r"http://127\.0\.0\.1:([0-9]+)\n", line)):
            code = self.end(0, 5)
            told = f"{line}{self.log()[-500:]}"
            raise RuntimeError(f"the server did not start: exit code {code}, {told}")
        return int(match[1])

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_):
        self.end()
        self.errors.close()

    def end(self, how=signal.SIGTERM, seconds=30) -> int | None:
        """Send a signal; return the exit code, None if the process did not end and was killed."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(seconds)
            return None
        finally:
            self.process.stdout.close()

    def log(self) -> str:
        """Return what the process has written to stderr."""
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def memory(self) -> float:
        """Return the resident memory in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024
