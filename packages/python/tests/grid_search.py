"""Run by a test, which restarts the scheduler once this has printed "half": a grid of 300 points, of which five fail."""

import json
from concurrent.futures import as_completed
from itertools import product

import calls

from goshawk import Executor

grid = list(product(range(30), range(10)))
with Executor(name="grid search") as executor:
    futures = [executor.submit(calls.score, *point) for point in grid]
    for done, _ in enumerate(as_completed(futures)):
        if done == len(grid) // 2:
            print("half", flush=True)
found = [
    {"value": future.result()} if future.exception() is None
    else {"error": type(future.exception()).__name__, "rate": getattr(future.exception(), "rate", None)}
    for future in futures
]
print(json.dumps(found))
