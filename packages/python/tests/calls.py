"""Functions that the tests run on workers."""

import os
import sys
import time


class Diverged(Exception):
    """A custom exception with a field."""

    def __init__(self, rate):
        super().__init__(f"diverged at {rate}")
        self.rate = rate

    def __reduce__(self):
        return Diverged, (self.rate,)


class Unpicklable(Exception):
    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")
        self.lock = __import__("threading").Lock()


def square(number):
    print("noise on stdout")
    return number * number


def score(rate, depth):
    if (rate, depth) in ((3, 1), (9, 4), (10, 0), (17, 2), (29, 9)):
        raise Diverged(rate)
    time.sleep(0.02)
    return {"rate": rate, "score": rate * 100 + depth}


def raise_unpicklable():
    raise Unpicklable("this", "that")


def raise_after_much_output():
    print("x" * 3_000_000, file=sys.stderr)
    raise KeyError("after all that")


def leave():
    sys.exit(7)


def die():
    os.kill(os.getpid(), 9)


def large(size):
    return "x" * size


def wait_for(seconds):
    time.sleep(seconds)
    return seconds


def fail_first(folder):
    path = os.path.join(folder, "tried")
    if not os.path.exists(path):
        open(path, "w").close()
        raise OSError("the first time")
    return int(os.environ["GOSHAWK_ATTEMPT"])


def touch(path):
    open(path, "w").close()


class Speechless(Exception):
    def __str__(self):
        raise RuntimeError("no message")


class Number(Exception):
    def __reduce__(self):
        return int, (7,)


def raise_speechless():
    raise Speechless()


def raise_number():
    raise Number("seven")


def same(value):
    return value


def note(folder, number):
    """Leaves a file for each run of a call."""
    with open(os.path.join(folder, f"{number}-{os.getpid()}-{time.monotonic_ns()}"), "w"):
        pass
    return number * number


def note_run(path, seconds):
    """Adds a line to a file for each run."""
    with open(path, "a") as file:
        file.write(f"{seconds}\n")
    time.sleep(seconds)
    return seconds
