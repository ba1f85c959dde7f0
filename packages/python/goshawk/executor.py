"""`concurrent.futures` on a cluster: functions run in Python processes on the workers."""

from __future__ import annotations

import atexit
import base64
import builtins
import json
import os
import pickle
import queue
import sys
import threading
import time
import uuid
import weakref
from concurrent.futures import CancelledError, Future
from concurrent.futures import Executor as BaseExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple

from ._task import EXCEPTION_MARK, check_not_loading, dumps_exception
from .client import Client, Job, TaskResult
from .errors import RemoteError, TaskCancelled, TaskFailed
from .progress import Progress

#: Calls submitted within this time become tasks of one job.
BATCH_SECONDS = 0.02
BATCH_TASKS_MAX = 5_000
#: Maximum size of a batch; requests are limited to 16 MiB.
BATCH_BYTES_MAX = 8 * 1024 * 1024
_CLOSE = object()
#: Executors whose calls a program waits for when it ends.
_executors: "weakref.WeakSet[Executor]" = weakref.WeakSet()


class RemoteTraceback(Exception):
    """Cause of a task's exception: its traceback on the worker."""

    def __init__(self, text: str):
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


class TaskFuture(Future):
    """A call on the cluster. `cancel` also stops a running call."""

    job: Optional[Job] = None
    index: Optional[int] = None

    def cancel(self) -> bool:
        if self.done():
            return self.cancelled()
        if self.job is not None:
            counts = self.job.cancel(tasks=str(self.index)).get("tasks", {})
            if not (counts.get("cancelled") or counts.get("killing")):
                return False
        return super().cancel() or self.cancelled()


class Executor(BaseExecutor):
    """
    Runs functions on a cluster. Functions, arguments and return values are pickled, so functions must be importable by
    the workers under the same paths, from a module or from the script that runs as `__main__`.

    `job` contains further fields of a job file for all calls: `retries`, `timeout`, `demand`, `priority`, `maxRunning`, `lend`.
    """

    def __init__(
        self,
        client: Optional[Client] = None,
        *,
        name: Optional[str] = None,
        python: Optional[str] = None,
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        **job: Any,
    ):
        for field in ("tasks", "stages", "key"):
            if field in job:
                raise TypeError(f"the executor sets {field} itself: omit it")
        self.client = client or Client()
        self._job = {"name": name or os.path.basename(sys.argv[0]) or "python", **job}
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        self._task = {
            "exec": [python or sys.executable, "-m", "goshawk._worker"],
            "cwd": cwd or os.getcwd(),
            "env": {"PYTHONPATH": package, "GOSHAWK_FOLDERS": _folders(package), **(env or {})},
            "returns": True,
        }
        self._task_bytes = len(json.dumps(self._task))
        self._calls: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self._followers: List[threading.Thread] = []
        self._jobs: List[Job] = []
        self._lock = threading.Lock()
        self._is_closed = False
        self._submitter = threading.Thread(target=self._submit_batches, name="goshawk-submit", daemon=True)
        self._submitter.start()
        _executors.add(self)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        check_not_loading()
        future = TaskFuture()
        stdin = _order(fn, args, kwargs)
        if self._bytes(stdin) > BATCH_BYTES_MAX:
            raise ValueError(
                f"the pickled call takes {self._bytes(stdin)} bytes, more than {BATCH_BYTES_MAX}: "
                "write its arguments to a file and pass the path"
            )
        with self._lock:
            if self._is_closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._calls.put((future, stdin))
        return future

    def map(
        self,
        fn: Callable[..., Any],
        *iterables: Iterable[Any],
        timeout: Optional[float] = None,
        chunksize: int = 1,
        return_exceptions: bool = False,
        progress: bool = False,
    ) -> Iterator[Any]:
        """
        Yields values in input order, like `map` of `concurrent.futures`. With `return_exceptions`, an exception
        replaces its value, and the other calls continue. `chunksize` calls share a process.
        """
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        end = None if timeout is None else time.monotonic() + timeout
        calls = list(zip(*iterables))
        chunks = [calls[at : at + chunksize] for at in range(0, len(calls), chunksize)]
        futures = [self.submit(_run_chunk, fn, chunk) for chunk in chunks]
        bar = _watch(futures, chunks, self._job["name"]) if progress else None

        def values() -> Iterator[Any]:
            try:
                futures.reverse()
                remaining = list(reversed(chunks))
                while futures:
                    left = None if end is None else max(0.0, end - time.monotonic())
                    for value in _values(futures.pop(), len(remaining.pop()), left):
                        if isinstance(value, _Raised) and not return_exceptions:
                            raise value.error
                        yield value.error if isinstance(value, _Raised) else value
            finally:
                for future in futures:
                    future.cancel()
                if bar is not None:
                    bar.close()

        return values()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._calls.put(_CLOSE)
        if cancel_futures:
            self._submitter.join()
            for job in self._jobs:
                job.cancel()
        if wait:
            self._submitter.join()
            for follower in self._followers:
                follower.join()
            _executors.discard(self)

    def _submit_batches(self) -> None:
        first = self._calls.get()
        while first is not _CLOSE:
            batch = [first]
            size = self._bytes(first[1])
            end = time.monotonic() + BATCH_SECONDS
            following: Any = None
            while len(batch) < BATCH_TASKS_MAX:
                try:
                    following = self._calls.get(timeout=max(0.0, end - time.monotonic()))
                except queue.Empty:
                    following = None
                    break
                if following is _CLOSE:
                    break
                size += self._bytes(following[1])
                if size > BATCH_BYTES_MAX:
                    break
                batch.append(following)
                following = None
            self._submit_batch(batch)
            first = following if following is not None else self._calls.get()

    def _bytes(self, stdin: str) -> int:
        """Returns the size of a call in a request."""
        return len(stdin) + self._task_bytes

    def _submit_batch(self, batch: List[Tuple[TaskFuture, str]]) -> None:
        for future, _ in batch:
            if future.cancelled():
                _settle(future)
        batch = [(future, stdin) for future, stdin in batch if not future.cancelled()]
        if not batch:
            return
        futures = [future for future, _ in batch]
        tasks = [{**self._task, "stdin": stdin} for _, stdin in batch]
        try:
            job = self.client.submit(self._job, tasks=tasks, key=str(uuid.uuid4()))
        except BaseException as error:
            for future in futures:
                _settle(future, error=error)
            return
        self._jobs.append(job)
        for index, future in enumerate(futures):
            future.job, future.index = job, index
            # The call may have been cancelled during the submission of its job.
            if future.cancelled():
                job.cancel(tasks=str(index))
        follower = threading.Thread(target=_follow, args=(job, futures), name=f"goshawk-{job.id}", daemon=True)
        self._followers.append(follower)
        follower.start()


def _shutdown_all() -> None:
    for executor in list(_executors):
        executor.shutdown()


# Other executors register here, too: functions of `atexit` run when Python starts no more threads.
getattr(threading, "_register_atexit", atexit.register)(_shutdown_all)


def _folders(package: str) -> str:
    """Lists what a sandboxed worker must show for the task: this package, the interpreter, and the modules of this process."""
    folders = [package, sys.prefix, sys.base_prefix, *(os.path.abspath(entry) for entry in sys.path)]
    return ":".join(folder for folder in dict.fromkeys(folders) if ":" not in folder)


def _order(fn: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> str:
    order: Dict[str, Any] = {"path": [os.path.abspath(entry) for entry in sys.path]}
    try:
        call = pickle.dumps((fn, args, kwargs))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(f"the call cannot be pickled: {error}; functions have to be importable from a module") from error
    # Pickles contain the module names of classes and functions.
    if b"__main__" in call:
        main = sys.modules["__main__"]
        path = getattr(main, "__file__", None)
        spec = getattr(main, "__spec__", None)
        # `python -m NAME`: the module has a package for relative imports. A folder or archive that is run has no name.
        if spec is not None and spec.name != "__main__":
            order["mainModule"] = spec.name
        elif path is None:
            raise ValueError(
                f"{getattr(fn, '__qualname__', fn)!s} is defined in a notebook or at a prompt, where workers cannot "
                "import it: put it into a module"
            )
        else:
            order["main"] = os.path.abspath(path)
    order["call"] = base64.b64encode(call).decode()
    return json.dumps(order)


class _Raised:
    """An exception in place of a value."""

    def __init__(self, error: BaseException):
        self.error = error

    def __reduce__(self) -> Any:
        return (_loads_raised, (dumps_exception(self.error),))


def _loads_raised(text: str) -> "_Raised":
    return _Raised(_exception(json.loads(base64.b64decode(text))))


def _run_chunk(fn: Callable[..., Any], calls: List[Tuple[Any, ...]]) -> Any:
    """Runs on the worker. An exception of a single call fails its task; of several, it replaces the call's value."""
    if len(calls) == 1:
        return [fn(*calls[0])]
    values: List[Any] = []
    for args in calls:
        try:
            values.append(fn(*args))
        except Exception as error:
            values.append(_Raised(error))
    return values


def _values(future: Future, count: int, timeout: Optional[float]) -> List[Any]:
    """Returns the values and exceptions of a chunk. If its task fails, each call gets the error of the task."""
    try:
        return future.result(timeout)
    except FutureTimeout:
        if not future.done():
            raise
        return [_Raised(future.exception() or FutureTimeout())] * count
    except (Exception, CancelledError) as error:
        return [_Raised(error)] * count


def _watch(futures: List[Future], chunks: List[List[Any]], name: str) -> Progress:
    bar = Progress(sum(len(chunk) for chunk in chunks), name)
    lock = threading.Lock()

    def ended(count: int) -> Callable[[Future], None]:
        def update(future: Future) -> None:
            with lock:
                failed = future.cancelled() or future.exception() is not None
                bar.update(bar.done + count, bar.failed + (count if failed else 0))

        return update

    for future, chunk in zip(futures, chunks):
        future.add_done_callback(ended(len(chunk)))
    return bar


def _follow(job: Job, futures: List[TaskFuture]) -> None:
    """Settles each future when its task ends."""
    left = set(range(len(futures)))
    try:
        for result in job.as_completed():
            left.discard(result.index)
            _finish(job, futures[result.index], result)
        for result in job.results_so_far() if left else []:
            if result.index in left:
                _finish(job, futures[result.index], result)
    except BaseException as error:
        for future in futures:
            _settle(future, error=error)


def _finish(job: Job, future: TaskFuture, result: TaskResult) -> None:
    try:
        if result.error is None:
            if not isinstance(result.value, Mapping) or "pickle" not in result.value:
                why = "its process ended without a result, for example in os._exit()"
                raise TaskFailed(result.index, why, "no-result")
            _settle(future, value=pickle.loads(base64.b64decode(result.value["pickle"])))
        elif isinstance(result.error, TaskCancelled):
            Future.cancel(future)
            _settle(future, error=result.error)
        else:
            _settle(future, error=_task_exception(job, result))
    except BaseException as error:
        _settle(future, error=error)


def _settle(future: Future, value: Any = None, error: Optional[BaseException] = None) -> None:
    if future.cancelled():
        # Notifies waiters, once.
        if future._state == "CANCELLED":  # type: ignore[attr-defined]
            future.set_running_or_notify_cancel()
        return
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(value)


def _task_exception(job: Job, result: TaskResult) -> BaseException:
    """Returns the function's exception with its traceback, or the cluster's description if the log is gone."""
    failure = result.error
    assert isinstance(failure, TaskFailed)
    if failure.code != "exit-code":
        return failure
    for described in reversed(_logged_exceptions(job, result)):
        return _exception(described)
    kind, _, message = failure.reason.partition(": ")
    known = getattr(builtins, kind, None)
    if isinstance(known, type) and issubclass(known, Exception):
        try:
            return known(message)
        except TypeError:
            pass
    return RemoteError(kind, message) if kind.isidentifier() else failure


def _logged_exceptions(job: Job, result: TaskResult) -> List[Dict[str, Any]]:
    # Gateways of earlier versions know no `attempt`, and return all attempts.
    chunks = job._logs(task=result.index)["chunks"]
    printed = "".join(
        chunk["text"] for chunk in chunks if chunk["stream"] == "stderr" and chunk["attempt"] == result.attempt
    )
    found = []
    for line in printed.split("\n"):
        if line.startswith(EXCEPTION_MARK):
            try:
                found.append(json.loads(base64.b64decode(line[len(EXCEPTION_MARK) :])))
            except ValueError:
                continue
    return found


def _exception(described: Mapping[str, Any]) -> BaseException:
    error: BaseException = RemoteError(described["kind"], described["message"])
    if "pickle" in described:
        try:
            error = pickle.loads(base64.b64decode(described["pickle"]))
        except Exception:
            pass
    error.__cause__ = RemoteTraceback(described["traceback"])
    return error
