"""A cluster of local processes that a Python program starts and stops."""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from typing import Any, Callable, List, Optional, Sequence

from .client import Client
from .discovery import _of_page
from .errors import GoshawkError

START_SECONDS = 60.0
STOP_SECONDS = 30.0
_PR_SET_PDEATHSIG = 1


class LocalCluster:
    """
    Runs `goshawk up` on this machine until `close`, the end of a `with` block, or the end of the program.

        with LocalCluster(workers=4) as cluster, cluster.executor() as executor:
            print(list(executor.map(abs, [-1, 2])))

    `folder` keeps jobs and results for the next cluster in it; by default, they are deleted at the end.
    """

    def __init__(
        self,
        workers: Optional[int] = None,
        *,
        folder: Optional[str] = None,
        command: Optional[Sequence[str]] = None,
        options: Sequence[str] = (),
    ):
        argv = list(command) if command is not None else _command()
        self._temporary = None if folder is not None else tempfile.mkdtemp(prefix="goshawk-")
        data = os.path.abspath(folder or os.path.join(self._temporary or "", "data"))
        count = workers if workers is not None else (os.cpu_count() or 1)
        try:
            self._process = subprocess.Popen(
                [*argv, "up", "--json", "--dashboard", "--workers", str(count), "--schedulers", "1", "--data-folder", data, *options],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # Ctrl-C at a prompt must not end the cluster.
                start_new_session=True,
                preexec_fn=_end_with_parent(),
            )
        except OSError as error:
            self._remove()
            hint = "install the package `goshawk` with npm, or pass command=[…]"
            raise GoshawkError(f"cannot run {argv[0]}: {error.strerror}", "no-command", hint) from error
        self._closed = threading.Lock()
        self._said: List[bytes] = []
        self._reader = threading.Thread(target=self._read, name="goshawk-up", daemon=True)
        self._reader.start()
        atexit.register(self.close)
        killer = threading.Timer(START_SECONDS, self._process.kill)
        killer.start()
        try:
            line = self._process.stdout.readline() if self._process.stdout else b""
        finally:
            killer.cancel()
        if not line:
            self._process.kill()
            self._process.wait()
            self._reader.join()
            self.close()
            said = b"".join(self._said).decode(errors="replace").strip()
            raise GoshawkError(f"the cluster did not start: {said or 'it said nothing'}", "not-started")
        announced = json.loads(line)
        self.url: str = announced["cluster"]
        found = _of_page(announced["dashboard"])
        assert found is not None
        self.api, self._token = found
        self.data_folder = data

    def client(self, **options: Any) -> Client:
        return Client(self.api, self._token, **options)

    def executor(self, **options: Any) -> Any:
        from .executor import Executor

        return Executor(self.client(), **options)

    def close(self) -> None:
        """Ends the cluster and the calls that still run, and waits for its processes."""
        atexit.unregister(self.close)
        with self._closed:
            if self._process.poll() is None:
                # The first interrupt drains, the second one ends it now.
                self._process.send_signal(signal.SIGINT)
                try:
                    self._process.wait(0.5)
                except subprocess.TimeoutExpired:
                    self._process.send_signal(signal.SIGINT)
                try:
                    self._process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    self._process.kill()
                    self._process.wait()
            self._reader.join(1)
            for pipe in (self._process.stdout, self._process.stderr):
                if pipe is not None:
                    pipe.close()
            self._remove()

    def __enter__(self) -> "LocalCluster":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<goshawk cluster {self.url}>"

    def _read(self) -> None:
        """Keeps the last lines that the command says, and its pipe empty."""
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._said.append(line)
            del self._said[:-20]

    def _remove(self) -> None:
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)


def _end_with_parent() -> Optional[Callable[[], None]]:
    """Returns what ends the cluster if the program is killed, on Linux. The kernel watches the thread that starts the cluster."""
    if not sys.platform.startswith("linux") or threading.current_thread() is not threading.main_thread():
        return None
    try:
        prctl = ctypes.CDLL(None).prctl
    except (AttributeError, OSError):
        return None
    return lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _command() -> List[str]:
    given = os.environ.get("GOSHAWK_COMMAND")
    if given:
        return given.split()
    return [shutil.which("goshawk") or "goshawk"]
