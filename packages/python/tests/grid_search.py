"""A grid of 300 points, five of which fail. A test runs it and restarts the scheduler after it prints "half"."""

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
