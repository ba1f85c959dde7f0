"""A program that tests kill and run again: `resumed.py FOLDER KEY COUNT`. It prints how many results it has, and their sum."""

import sys

import calls

from goshawk import Executor

folder, key, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with Executor(key=key) as executor:
    found = 0
    for done, value in enumerate(executor.map(calls.note, [folder] * count, range(count))):
        found += value
        if done == count // 4:
            print("quarter", flush=True)
print(count, found)
