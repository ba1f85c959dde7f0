"""
Calls of Python functions through Goshawk, the standard library, Dask and Ray, in turn. `python_calls.py ROUNDS` prints versions, and then the
times of each round by system, as JSON.
"""

import concurrent.futures
import importlib.util
import json
import multiprocessing
import platform
import statistics
import sys
import time

import goshawk

PROCESSES = 4


def square(number):
    return number * number


def multiply(seed):
    import numpy

    matrix = numpy.random.default_rng(seed).random((200, 200))
    return float((matrix @ matrix).sum())


class Futures:
    """An executor with the interface of concurrent.futures."""

    def __init__(self, executor, version):
        self.version = version
        self._executor = executor

    def map(self, function, values):
        return list(self._executor.map(function, values))

    def call(self, function, value):
        return self._executor.submit(function, value).result()

    def close(self):
        self._executor.shutdown()


class Dask:
    def __init__(self):
        import distributed

        self.version = f"Dask distributed {distributed.__version__}"
        self._cluster = distributed.LocalCluster(n_workers=PROCESSES, threads_per_worker=1, dashboard_address=None)
        self._client = distributed.Client(self._cluster)

    def map(self, function, values):
        return self._client.gather(self._client.map(function, values, pure=False))

    def call(self, function, value):
        return self._client.submit(function, value, pure=False).result()

    def close(self):
        self._client.close()
        self._cluster.close()


class Ray:
    def __init__(self):
        import ray

        ray.init(num_cpus=PROCESSES, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
        self.version = f"Ray {ray.__version__}"
        self._ray = ray
        self._remote = {}

    def map(self, function, values):
        remote = self._function(function)
        return self._ray.get([remote.remote(value) for value in values])

    def call(self, function, value):
        return self._ray.get(self._function(function).remote(value))

    def close(self):
        self._ray.shutdown()

    def _function(self, function):
        if function not in self._remote:
            self._remote[function] = self._ray.remote(function)
        return self._remote[function]


def process_pool():
    context = multiprocessing.get_context("spawn")
    pool = concurrent.futures.ProcessPoolExecutor(PROCESSES, mp_context=context)
    return Futures(pool, f"ProcessPoolExecutor of Python {platform.python_version()}")


def systems():
    yield "goshawk", Futures(goshawk.Executor(), "journal on disk")
    yield "process pool", process_pool()
    for name, module, start in (("dask", "distributed", Dask), ("ray", "ray", Ray)):
        if importlib.util.find_spec(module) is None:
            print(f"{name} is skipped; install {module} for this Python, or name another one with --python", file=sys.stderr)
        else:
            yield name, start()


def milliseconds(work):
    began = time.perf_counter()
    work()
    return 1_000 * (time.perf_counter() - began)


def one_call(system):
    times = [milliseconds(lambda: system.call(square, value)) for value in range(30)]
    return {"oneMs": statistics.median(times)}


def many(name, function, count):
    return lambda system: {name: milliseconds(lambda: system.map(function, range(count)))}


WORKS = [one_call, many("numpyMs", multiply, 100), many("manyMs", square, 5_000)]


def main():
    started = dict(systems())
    print(json.dumps({name: system.version for name, system in started.items()}), flush=True)
    for system in started.values():
        # Interpreters start, and import what the functions need.
        for function in (square, multiply):
            assert len(system.map(function, range(32))) == 32
    for _ in range(int(sys.argv[1])):
        measured = {name: {} for name in started}
        for work in WORKS:
            for name, system in started.items():
                measured[name].update(work(system))
        print(json.dumps(measured), flush=True)
    for system in started.values():
        system.close()


if __name__ == "__main__":
    main()
