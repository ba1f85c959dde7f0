"""The loop of an interpreter that runs many calls: it restores its state after each, or takes no more calls."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import resource
import signal
import socket
import struct
import sys
import threading
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import _task
from ._values import Channel, Folder, Served

#: Exit code if a call has closed the files of the interpreter. The worker explains it.
EXIT_CLOSED_FILES = 96
#: Growth of memory over that after the first call at which the interpreter is replaced: a factor, and bytes.
GROWTH_FACTOR_MAX = 2
GROWTH_BYTES_MAX = 256 * 1024 * 1024
SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCHLD]
_LENGTH = struct.Struct("<I")


class _Connection:
    def __init__(self, path: str):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        self._buffer = b""

    def read(self) -> Optional[Dict[str, Any]]:
        """Returns the next message; None at the end."""
        head = self._take(_LENGTH.size)
        body = self._take(_LENGTH.unpack(head)[0]) if head is not None else None
        return None if body is None else json.loads(body)

    def write(self, message: Dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        self._socket.sendall(_LENGTH.pack(len(body)) + body)

    def _take(self, count: int) -> Optional[bytes]:
        parts, have = [self._buffer], len(self._buffer)
        while have < count:
            part = self._socket.recv(max(65_536, min(count - have, 1 << 20)))
            if not part:
                return None
            parts.append(part)
            have += len(part)
        all_bytes = b"".join(parts)
        self._buffer = all_bytes[count:]
        return all_bytes[:count]


class _State:
    """What a call may change in its interpreter, as it is between calls."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._streams = (sys.stdin, sys.stdout, sys.stderr)
        # A call that closes or redirects descriptors 1 and 2 must not affect the next one.
        self.outputs = [os.dup(1), os.dup(2)]
        self._cwd = os.getcwd()
        self._base = dict(os.environ)
        self._environment = self._base
        self._path = list(sys.path)
        self._handlers = [signal.getsignal(each) for each in SIGNALS]
        self._recursion = sys.getrecursionlimit()
        self._umask = os.umask(0o022)
        os.umask(self._umask)
        self._threads = set(threading.enumerate())
        self._first_memory: Optional[int] = None
        self._files: Dict[str, Tuple[int, int]] = {}
        self._modules = 0
        self._note_modules()

    def begin(self, variables: Dict[str, str]) -> None:
        self._environment = {**self._base, **variables}
        self._restore_environment()
        _reset_peak()

    def end_of_fork(self) -> None:
        """A function that forks and returns twice would answer twice."""
        if os.getpid() != self._pid:
            os._exit(0)

    def restore(self) -> Optional[str]:
        """Undoes what the call has changed. Returns why the interpreter cannot be used again."""
        sys.stdin, sys.stdout, sys.stderr = self._streams
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                return "the call closed an output stream"
        for target, saved in zip((1, 2), self.outputs):
            os.dup2(saved, target)
        _flush_libraries()
        self._restore_environment()
        try:
            if os.getcwd() != self._cwd:
                os.chdir(self._cwd)
        except OSError:
            try:
                os.chdir(self._cwd)
            except OSError:
                return "its folder is gone"
        if sys.path != self._path:
            sys.path[:] = self._path
        for number, handler in zip(SIGNALS, self._handlers):
            if signal.getsignal(number) is not handler and handler is not None:
                signal.signal(number, handler)
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.setrecursionlimit(self._recursion)
        os.umask(self._umask)
        self._note_modules()
        return self._leftovers()

    def _restore_environment(self) -> None:
        if dict(os.environ) == self._environment:
            return
        for name in set(os.environ) - set(self._environment):
            del os.environ[name]
        os.environ.update(self._environment)

    def is_stale(self) -> bool:
        """Returns whether a file of a loaded module of the user has changed."""
        return any(_version(path) != version for path, version in self._files.items())

    def _leftovers(self) -> Optional[str]:
        if set(threading.enumerate()) - self._threads:
            return "a thread of the call still runs"
        try:
            while True:
                pid, _ = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return "a process of the call still runs"
        except ChildProcessError:
            pass
        memory = _memory()
        if self._first_memory is None:
            self._first_memory = memory
        if memory > GROWTH_FACTOR_MAX * self._first_memory and memory > self._first_memory + GROWTH_BYTES_MAX:
            return "its memory has grown"
        return None

    def _note_modules(self) -> None:
        if len(sys.modules) == self._modules:
            return
        self._modules = len(sys.modules)
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if isinstance(path, str) and path not in self._files and not _is_installed(path):
                self._files[path] = _version(path)


_flush_libraries: Callable[[], Any]
try:
    _flush_libraries = functools.partial(ctypes.CDLL(None).fflush, None)
except (AttributeError, OSError, TypeError):  # pragma: no cover
    _flush_libraries = bool


def _is_installed(path: str) -> bool:
    if "site-packages" in path or "dist-packages" in path:
        return True
    return path.startswith(os.path.dirname(os.__file__))


def _version(path: str) -> Tuple[int, int]:
    try:
        stats = os.stat(path)
        return stats.st_mtime_ns, stats.st_size
    except OSError:
        return 0, 0


def _memory() -> int:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def _reset_peak() -> None:
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass


def _peak() -> Optional[int]:
    try:
        with open("/proc/self/status", "rb") as file:
            for line in file:
                if line.startswith(b"VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def serve() -> None:
    path = os.environ.pop("GOSHAWK_CALLS")
    connection = _Connection(path)
    hello = connection.read()
    if hello is None:
        return
    mark = hello["mark"].encode("latin-1")
    folder = hello.get("values")
    store: Optional[Callable[[str], Any]] = None
    if folder is not None:
        store = functools.partial(Folder, folder)
    elif hello.get("served") is True:
        store = functools.partial(Served, Channel(path))
    state: Optional[_State] = None
    failure: Optional[BaseException] = None
    try:
        _task.prepare()
    except BaseException as error:
        failure = error
    state = _State()
    while True:
        message = connection.read()
        if message is None:
            return
        number = message["id"]
        if state.is_stale():
            connection.write({"stale": number})
            continue
        connection.write({"began": number})
        state.begin(message["env"])
        if failure is not None:
            _task.print_exception(failure)
            text = f"{type(failure).__name__}: {_task._codec.message_of(failure)}"[:2_000]
            answer: List[Any] = [None, text]
        else:
            answer = list(_task.run_call(json.loads(message["stdin"]), store))
        state.end_of_fork()
        try:
            last = state.restore()
        except OSError:
            os._exit(EXIT_CLOSED_FILES)
        ended = {"ended": number, "value": answer[0], "last": failure is not None or last is not None}
        if answer[1] is not None:
            ended["error"] = answer[1]
        peak = _peak()
        if peak is not None:
            ended["peak"] = peak
        try:
            for output in state.outputs:
                _write_all(output, mark)
            connection.write(ended)
        except OSError:
            os._exit(EXIT_CLOSED_FILES)
        del answer, ended, message


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
