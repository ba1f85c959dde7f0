"""Functions that disturb their interpreter. Each is followed by a call that must be right."""

import atexit
import builtins
import ctypes
import faulthandler
import gc
import io
import logging
import multiprocessing
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings


def state():
    """Returns what a call finds, and prints a line."""
    print("state")
    return {
        "cwd": os.getcwd(),
        "path": list(sys.path),
        "environment": {name: value for name, value in os.environ.items() if not name.startswith("GOSHAWK_")},
        "handlers": [str(signal.getsignal(each)) for each in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM)],
        "recursion": sys.getrecursionlimit(),
        "umask": (mask := os.umask(0o22), os.umask(mask))[0],
        "threads": threading.active_count(),
        "timer": signal.getitimer(signal.ITIMER_REAL)[0],
        "stdout": sys.stdout.name,
        "stdin": sys.stdin.read(),
    }


def exits():
    sys.exit(3)


def exits_silently():
    sys.exit()


def exits_hard():
    os._exit(5)


def dies():
    os.kill(os.getpid(), signal.SIGKILL)


def segfaults():
    ctypes.string_at(0)


def aborts():
    faulthandler.disable()
    os.abort()


def forks_and_returns():
    os.fork()
    return "twice"


def forks_and_leaves_a_child():
    if os.fork() == 0:
        time.sleep(600)
    return "left"


def leaves_a_process():
    subprocess.Popen(["sleep", "600"])
    return "left"


def closes_stdout():
    sys.stdout.close()
    return "closed"


def closes_stderr_and_raises():
    sys.stderr.close()
    raise KeyError("closed")


def closes_descriptors():
    os.close(1)
    os.close(2)
    return "closed"


def closes_all_files():
    os.closerange(0, 1024)
    return "closed"


def replaces_stderr():
    sys.stderr = io.StringIO()
    raise KeyError("replaced")


def leaves_an_unfinished_line():
    sys.stderr.write("\r 50%|### | 1/2")
    raise KeyError("line")


def prints_binary():
    os.write(1, bytes(range(256)) * 100)
    os.write(2, b"\0goshawk 00\0")
    return "binary"


def prints_much():
    for _ in range(300):
        os.write(1, b"x" * 10_000 + b"\n")
    return "much"


def returns_a_lock():
    return threading.Lock()


def returns_a_generator():
    return (each for each in range(3))


class RaisesInReduce:
    def __reduce__(self):
        raise RuntimeError("no reduce")


def raises_in_reduce():
    return RaisesInReduce()


class BadException(Exception):
    def __reduce__(self):
        raise RuntimeError("no reduce")


def raises_an_unpicklable_exception():
    raise BadException("bad")


def _cannot_load():
    raise OSError("not on this machine")


class CannotLoad:
    def __reduce__(self):
        return _cannot_load, ()


def returns_what_cannot_be_loaded():
    return CannotLoad()


def recurses():
    return recurses()


def recurses_deeply():
    sys.setrecursionlimit(10**6)
    return recurses_deeply_on()


def recurses_deeply_on():
    return recurses_deeply_on()


def returns_nested():
    value = []
    for _ in range(100_000):
        value = [value]
    return value


def imports_slowly():
    import slow_module

    return slow_module.value


def imports_nothing():
    import no_such_module  # noqa: F401


def changes_folder():
    os.chdir(tempfile.gettempdir())
    return "changed"


def removes_its_folder():
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.rmdir(folder)
    return "removed"


def changes_environment():
    os.environ["CHANGED"] = "1"
    os.environ.pop("PATH")
    return "changed"


def changes_the_path():
    sys.path.insert(0, "/nowhere")
    return "changed"


def leaves_a_thread():
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    return "left"


def leaves_a_printing_thread():
    def run():
        while True:
            os.write(1, b"noise\n")
            time.sleep(0.001)

    threading.Thread(target=run, daemon=True).start()
    return "left"


def sets_handlers():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return "set"


def leaves_an_alarm():
    signal.signal(signal.SIGALRM, lambda *_: os._exit(9))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    return "set"


def changes_umask():
    os.umask(0o777)
    return "changed"


def registers_at_exit():
    atexit.register(time.sleep, 600)
    return "registered"


def changes_recursion():
    sys.setrecursionlimit(5_000)
    return "changed"


def uses_multiprocessing():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.map(abs, [-1, -2])


def uses_spawned_processes():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.map(abs, [-1, -2])


def allocates():
    return len(bytearray(400 * 1024 * 1024))


KEPT = []


def leaks():
    KEPT.append(bytearray(b"x" * (400 * 1024 * 1024)))
    return "leaked"


def raises_a_group():
    raise ExceptionGroup("several", [ValueError("one"), KeyError("two")])  # noqa: F821


def raises_with_a_cause():
    try:
        raise OSError("the cause")
    except OSError as error:
        raise ValueError("the effect") from error


def interrupts():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)


def reads_stdin():
    return sys.stdin.read()


def lowers_limits():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return "lowered"


def raises_surrogates():
    raise ValueError("half \ud800")


def opens_many_files():
    return len([socket.socket() for _ in range(100)])


def replaces_builtins():
    builtins.print = None
    return "replaced"


def sleeps():
    time.sleep(600)
