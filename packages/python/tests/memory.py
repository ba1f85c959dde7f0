"""
`memory.py PID COUNT BYTES`: reads results one by one, while it observes the memory of this process and those below PID. Prints as JSON by how
many bytes the peak of each grew, with the command, the largest first.
"""

import json
import os
import sys
import threading

import calls

from goshawk import Executor

#: Memory of an interpreter of a worker, which starts later.
INTERPRETER_BYTES = 64 * 1024 * 1024


def make(number, size):
    """Returns bytes, which are a part of a pickle, or an array, whose buffer is a file."""
    if number % 2 == 0:
        return bytes([number % 256]) * size
    try:
        import numpy
    except ImportError:
        return bytearray([number % 256]) * size
    return numpy.full(size, number % 256, dtype="u1")


def status(pid):
    with open(f"/proc/{pid}/status") as file:
        return dict(line.split(":", 1) for line in file if ":" in line)


def peaks(root):
    """Returns the peak memory and command of this process and of those below another, by process."""
    found = {}
    rows = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline") as file:
                command = " ".join(file.read().split("\0")[:4])
            rows[int(name)] = (status(name), command)
        except OSError:
            continue
    below = {os.getpid(), root}
    while True:
        more = {pid for pid, (row, _) in rows.items() if int(row["PPid"]) in below} - below
        if not more:
            break
        below |= more
    for pid in below & set(rows):
        row, command = rows[pid]
        if "VmHWM" in row:
            found[pid] = (int(row["VmHWM"].split()[0]) * 1024, command)
    return found


def main():
    root, count, size = map(int, sys.argv[1:])
    most = {}
    with Executor(name="memory") as executor:
        list(executor.map(calls.square, range(64)))
        before = peaks(root)
        is_done = threading.Event()

        def watch():
            # Workers reset the peak of an interpreter for each call.
            while not is_done.wait(0.02):
                for pid, seen in peaks(root).items():
                    most[pid] = max(most.get(pid, seen), seen)

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            number = 0
            for value in executor.map(make, range(count), [size] * count):
                assert len(value) == size and value[0] == value[size - 1] == number % 256
                number += 1
            assert number == count
        finally:
            is_done.set()
            watcher.join()
    grown = [(peak - before.get(pid, (INTERPRETER_BYTES, ""))[0], command) for pid, (peak, command) in most.items()]
    print(json.dumps(sorted(grown, reverse=True)))


if __name__ == "__main__":
    main()
