"""`concurrent.futures` on a cluster: functions run in Python processes on the workers."""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
import time
import types
import weakref
from concurrent.futures import CancelledError, Future
from concurrent.futures import Executor as BaseExecutor
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from ._calls import Function, apply, pickled_function, variables
from ._lane import BATCH_BYTES_MAX, Lane, TaskFuture, size_of
from ._loading import check_not_loading
from .client import Client
from .progress import Progress

#: Fields of a job that the executor sets.
_OWN_FIELDS = ("tasks", "stages", "open")
#: Executors whose calls a program waits for when it ends.
_executors: "weakref.WeakSet[Executor]" = weakref.WeakSet()


class Executor(BaseExecutor):
    """
    Runs functions on a cluster, by default the one that `Client()` finds. Functions and values that cannot be imported on the workers
    are pickled by value, if cloudpickle is installed.

    `job` contains further fields of a job file for all calls: `retries`, `timeout`, `demand`, `priority`, `maxRunning`, `lend`. With `key`,
    a later executor with the same key that makes the same calls in the same order gets the results of those that have ended,
    and runs the rest. With `fresh`, each call gets a new process.
    """

    def __init__(
        self,
        client: Optional[Client] = None,
        *,
        name: Optional[str] = None,
        python: Optional[str] = None,
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        key: Optional[str] = None,
        fresh: bool = False,
        **job: Any,
    ):
        _check_fields(job)
        self.client = client or Client()
        self._job = {"name": name or os.path.basename(sys.argv[0]) or "python", **job}
        folder = cwd or os.getcwd()
        self._task: Dict[str, Any] = {
            "exec": [python or sys.executable, "-m", "goshawk._worker"],
            "cwd": folder,
            "env": {**variables(folder), **_threads(job), **(env or {})},
            **({"returns": True} if fresh else {"warm": True}),
        }
        self._key = key
        self._lanes: Dict[str, Lane] = {}
        self._lock = threading.Lock()
        self._is_closed = False
        _executors.add(self)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "TaskFuture":
        fn, args = _callable(fn, args)
        (future,) = self._submit(self._job, (), pickled_function(fn), [(args, kwargs)])
        return future

    def options(self, *, after: Sequence[Future] = (), **job: Any) -> "Options":
        """
        Returns the executor with other fields for its calls: `executor.options(retries=2, demand={"gpu": 1}).submit(train)`. Calls start
        once the calls `after` have returned; if one fails, they fail with its exception.
        """
        _check_fields(job)
        return Options(self, {**self._job, **job}, tuple(after))

    def map(
        self,
        fn: Callable[..., Any],
        *iterables: Iterable[Any],
        timeout: Optional[float] = None,
        chunksize: int = 1,
        return_exceptions: bool = False,
        progress: bool = False,
        key: Optional[str] = None,
    ) -> Iterator[Any]:
        """
        Yields values in input order, like `map` of `concurrent.futures`. With `return_exceptions`, an exception
        replaces its value, and the other calls continue. `chunksize` calls are one task. With `key`, see the class.
        """
        return self._map(self._job, (), fn, iterables, timeout, chunksize, return_exceptions, progress, key)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with self._lock:
            self._is_closed = True
            lanes = list(self._lanes.values())
        for lane in lanes:
            lane.close(cancel=cancel_futures)
        if wait:
            for lane in lanes:
                lane.join()
            _executors.discard(self)

    def _submit(
        self,
        job: Dict[str, Any],
        after: Tuple[Future, ...],
        function: Function,
        calls: Sequence[Tuple[Tuple[Any, ...], Dict[str, Any]]],
        key: Optional[str] = None,
    ) -> List["TaskFuture"]:
        """Submits calls, several as one task."""
        check_not_loading()
        lane = self._lane(job, key)
        task = [lane.call(function, args, kwargs) for args, kwargs in calls]
        size = sum(map(size_of, task))
        if size > BATCH_BYTES_MAX:
            raise ValueError(
                f"the pickled call takes {size} bytes, more than {BATCH_BYTES_MAX}, and the cluster has no folder for "
                "larger ones (--values): write its arguments to a file and pass the path"
            )
        futures = [call.future for call in task]
        with self._lock:
            if self._is_closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            if not after:
                lane.put(function, task)
                return futures
        _after(after, futures, lambda: lane.put(function, task))
        return futures

    def _lane(self, job: Dict[str, Any], key: Optional[str]) -> Lane:
        key = key if key is not None else self._key
        name = json.dumps([job, key], sort_keys=True, default=str)
        with self._lock:
            lane = self._lanes.get(name)
            if lane is None:
                number = len(self._lanes)
                # Calls with other options are another job.
                own = key if key is None or number == 0 or key != self._key else f"{key}+{number}"
                lane = self._lanes[name] = Lane(self, self.client, job, self._task, own)
            return lane

    def _map(
        self,
        job: Dict[str, Any],
        after: Tuple[Future, ...],
        fn: Callable[..., Any],
        iterables: Tuple[Iterable[Any], ...],
        timeout: Optional[float],
        chunksize: int,
        return_exceptions: bool,
        progress: bool,
        key: Optional[str],
    ) -> Iterator[Any]:
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        end = None if timeout is None else time.monotonic() + timeout
        calls: List[Tuple[Tuple[Any, ...], Dict[str, Any]]] = [(args, {}) for args in zip(*iterables)]
        # An empty map needs no function either, but a wrong one is reported.
        function = pickled_function(fn)
        futures: List[TaskFuture] = []
        for at in range(0, len(calls), chunksize):
            futures += self._submit(job, after, function, calls[at : at + chunksize], key)
        bar = _watch(futures, self._job["name"]) if progress else None

        def values() -> Iterator[Any]:
            # Values that have been yielded are not kept.
            futures.reverse()
            try:
                while futures:
                    seconds = None if end is None else max(0.0, end - time.monotonic())
                    yield _value(futures.pop(), seconds, return_exceptions)
            finally:
                cancel_all(futures)
                if bar is not None:
                    bar.close()

        return values()


class Options:
    """An executor with other fields for its calls; see `Executor.options`."""

    def __init__(self, executor: Executor, job: Dict[str, Any], after: Tuple[Future, ...]):
        self._executor = executor
        self._job = job
        self._after = after

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "TaskFuture":
        fn, args = _callable(fn, args)
        (future,) = self._executor._submit(self._job, self._after, pickled_function(fn), [(args, kwargs)])
        return future

    def map(
        self,
        fn: Callable[..., Any],
        *iterables: Iterable[Any],
        timeout: Optional[float] = None,
        chunksize: int = 1,
        return_exceptions: bool = False,
        progress: bool = False,
        key: Optional[str] = None,
    ) -> Iterator[Any]:
        return self._executor._map(
            self._job, self._after, fn, iterables, timeout, chunksize, return_exceptions, progress, key
        )


def _threads(job: Mapping[str, Any]) -> Dict[str, str]:
    """Returns variables by which numerical libraries use as many threads as a call demands CPUs; by default, they use all CPUs."""
    demand = job.get("demand")
    cpus = demand.get("cpu", 1) if isinstance(demand, Mapping) else 1
    try:
        count = str(max(1, int(float(cpus))))
    except (TypeError, ValueError, OverflowError):
        count = "1"
    return {name: count for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


def _callable(fn: Callable[..., Any], args: Tuple[Any, ...]) -> Tuple[Callable[..., Any], Tuple[Any, ...]]:
    """Makes an object that can be called an argument: workers keep functions, of which there are few."""
    if isinstance(fn, (types.FunctionType, types.BuiltinFunctionType, type)):
        return fn, args
    return apply, (fn, *args)


def _check_fields(job: Mapping[str, Any]) -> None:
    for field in _OWN_FIELDS:
        if field in job:
            raise TypeError(f"the executor sets {field} itself: omit it")


def _after(futures: Tuple[Future, ...], dependents: List[TaskFuture], start: Callable[[], None]) -> None:
    """Calls `start` once all futures have returned; fails the dependents if one has not."""
    lock = threading.Lock()
    left = len(futures)

    def ended(one: Future) -> None:
        nonlocal left
        with lock:
            left -= 1
            is_last = left == 0
        error: Optional[BaseException] = CancelledError() if one.cancelled() else one.exception()
        if error is not None:
            for future in dependents:
                future.settle(error=error)
        elif is_last:
            start()

    for each in futures:
        each.add_done_callback(ended)


def cancel_all(futures: Iterable[Future]) -> None:
    """Cancels futures, those of one job with one request."""
    by_lane: Dict[Lane, List[TaskFuture]] = {}
    for future in futures:
        if isinstance(future, TaskFuture) and future.lane is not None:
            by_lane.setdefault(future.lane, []).append(future)
        elif future is not None:
            future.cancel()
    for lane, own in by_lane.items():
        lane.cancel(own)


def _shutdown_all() -> None:
    for executor in list(_executors):
        executor.shutdown()


# Other executors register here, too: functions of `atexit` run when Python starts no more threads.
getattr(threading, "_register_atexit", atexit.register)(_shutdown_all)


def _value(future: Future, timeout: Optional[float], return_exceptions: bool) -> Any:
    try:
        return future.result(timeout)
    except (Exception, CancelledError) as error:
        # A timeout may be that of the call or of this wait.
        if not return_exceptions or not future.done():
            raise
        return error


def _watch(futures: Sequence[Future], name: str) -> Progress:
    bar = Progress(len(futures), name)
    lock = threading.Lock()

    def update(future: Future) -> None:
        with lock:
            failed = future.cancelled() or future.exception() is not None
            bar.update(bar.done + 1, bar.failed + (1 if failed else 0))

    for future in futures:
        future.add_done_callback(update)
    return bar
