"""Calls with the same options: one open job, one thread that appends its tasks, and one that reads its results."""

from __future__ import annotations

import asyncio
import builtins
import collections
import hashlib
import threading
import time
import uuid
from concurrent.futures import Future
from typing import Any, Deque, Dict, Generator, List, Mapping, NamedTuple, Optional, Set, Tuple

from ._calls import Function, Later, Raised, group_of, identity_of, is_result, order_of, outcome_of, packed_args
from ._task import INLINE_BYTES_MAX
from ._values import LazyStore
from .client import ENDED, Client, Job, TaskResult, task_ranges
from .errors import Conflict, GoshawkError, RemoteError, TaskCancelled, TaskFailed

#: Maximum number and size of the tasks of one request; requests are limited to 16 MiB.
BATCH_TASKS_MAX = 2_000
BATCH_BYTES_MAX = 8 * 1024 * 1024
#: A job without a client closes after this time: one that nobody can resume, and one with a key.
OPEN, OPEN_WITH_KEY = "2m", "1h"
#: Calls of a function that are known to be shorter are grouped into tasks of about this time, and of at most the second one.
GROUP_SECONDS = 0.05
GROUP_SECONDS_MAX = 0.2
#: A function's calls are made into at least this many groups, for as many workers.
GROUPS_MIN = 8
#: While nothing is known of a function, this many of its tasks are sent, and twice as many after each pause.
FIRST_TASKS = 16
FIRST_PAUSE_SECONDS = 0.25
#: Functions whose run times are kept.
FUNCTIONS_MAX = 1_000
#: Fields of a job that apply to each call, which then is a task of its own.
_PER_CALL = ("retries", "timeout", "retryOn", "demand", "maxRunning", "gang")


class TaskFuture(Future):
    """A call on the cluster. `cancel` also stops a running call; `await` waits for the value."""

    job: Optional[Job] = None
    index: Optional[int] = None
    lane: Optional["Lane"] = None

    def cancel(self) -> bool:
        if self.done():
            return self.cancelled()
        if self.lane is not None and not self.lane.cancel([self], False):
            return False
        return Future.cancel(self) or self.cancelled()

    def result(self, timeout: Optional[float] = None) -> Any:
        value = super().result(timeout)
        return value.value() if isinstance(value, Later) else value

    def __await__(self) -> Generator[Any, None, Any]:
        return asyncio.wrap_future(self).__await__()

    def settle(self, value: Any = None, error: Optional[BaseException] = None) -> None:
        if self.cancelled():
            # Notifies waiters, once.
            if self._state == "CANCELLED":  # type: ignore[attr-defined]
                self.set_running_or_notify_cancel()
        elif self.done():
            return
        elif error is not None:
            self.set_exception(error)
        else:
            self.set_result(value)


class Call(NamedTuple):
    future: TaskFuture
    #: Its result carries the name.
    name: str
    #: Pickled arguments, and the names of files that are parts of them.
    args: Dict[str, Any]


def size_of(call: Call) -> int:
    """Returns about how many bytes a call takes in a request."""
    return 200 + len(call.args.get("pickle", "")) + 70 * len(call.args.get("buffers", ()))


class _Task:
    """Calls of a function that are one task. One that the lane has grouped may return some of them."""

    def __init__(self, function: Function, calls: List[Call], is_group: bool = False):
        self.function = function
        self.calls = calls
        self.is_group = is_group
        self.has_ended = False

    @property
    def size(self) -> int:
        return sum(map(size_of, self.calls)) + min(len(self.function.data), 64 * 1024) * 4 // 3


class _Segment:
    """One open job of a lane, with its follower."""

    def __init__(self, lane: "Lane", job: Job, known: int, digest: str, is_closed: bool):
        self.job = job
        #: Tasks that the job has, and those that an earlier program has appended.
        self.count = known
        self.known = known
        self.digest = digest
        #: Tasks of this program in the job, in order from the first.
        self.made = 0
        self.is_closed = is_closed
        self.has_ended = False
        self.lock = threading.Lock()
        self.tasks: Dict[int, _Task] = {}
        #: Results that have arrived before their calls were made again.
        self._early: Dict[int, TaskResult] = {}
        self._failure: Optional[BaseException] = None
        #: The results of all tasks before this one have been read.
        self.taken = 0
        self._read: Set[int] = set()
        self._lane = lane
        self.follower = threading.Thread(target=self._follow, name=f"goshawk-{job.id}", daemon=True)

    def register(self, index: int, task: _Task) -> None:
        with self.lock:
            for call in task.calls:
                call.future.job, call.future.index = self.job, index
            result, failure = self._early.pop(index, None), self._failure
            if result is None and failure is None:
                self.tasks[index] = task
        if result is not None:
            self._lane.finish(task, result)
        elif failure is not None:
            self._lane.fail(task, failure)

    def forget(self, index: int) -> None:
        with self.lock:
            self.tasks.pop(index, None)

    def _follow(self) -> None:
        """Settles each future when its task ends."""
        try:
            for result in self.job.raw_results():
                self._take(result)
            for result in self.job.raw_results_so_far() if self.tasks else []:
                if result.state in ENDED:
                    self._take(result)
            failure: BaseException = GoshawkError(f"job {self.job.id} has ended without a result of the call", "no-result")
        except BaseException as error:
            failure = error
        with self.lock:
            self.has_ended = True
            self._failure = failure
            left = list(self.tasks.values())
            self.tasks.clear()
        for task in left:
            self._lane.fail(task, failure)

    def _take(self, result: TaskResult) -> None:
        index = result.index
        with self.lock:
            task = self.tasks.pop(index, None)
            if task is None:
                if index < self.known or index >= self.count:
                    self._early[index] = result
                return
            self._read.add(index)
            while self.taken in self._read:
                self._read.discard(self.taken)
                self.taken += 1
        self._lane.finish(task, result)


class _Pace:
    """What is known of the run time of a function."""

    def __init__(self) -> None:
        self.seconds: Optional[float] = None
        self.result_bytes = 1
        self.sent = 0
        self.allowed = FIRST_TASKS
        self.next_at = 0.0

    def learn(self, seconds: float) -> None:
        """Believes a shorter time at once: a busy machine makes calls look long, and a group that takes too long returns calls."""
        if self.seconds is None or seconds < self.seconds:
            self.seconds = seconds
        else:
            self.seconds += (seconds - self.seconds) / 4

    def room(self, now: float) -> int:
        """Returns how many tasks may be sent while nothing is known."""
        if self.sent == 0:
            self.next_at = now + FIRST_PAUSE_SECONDS
        elif now >= self.next_at:
            self.allowed *= 2
            self.next_at = now + FIRST_PAUSE_SECONDS
        return max(0, self.allowed - self.sent)


class Lane:
    """Runs calls in the order of `put`, as tasks of an open job; of a further one once that is closed."""

    def __init__(
        self, owner: Any, client: Client, job: Mapping[str, Any], task: Mapping[str, Any], key: Optional[str]
    ):
        #: Keeps the executor until its calls have ended, although the program may have dropped it.
        self._owner = owner
        self.key = key
        self._client = client
        self._job = {**job, "open": OPEN if key is None else OPEN_WITH_KEY}
        self._task = task
        # A later run must make the same tasks.
        self._groups = key is None and task.get("warm") is True and not any(field in job for field in _PER_CALL)
        self._own = uuid.uuid4().hex
        self._store = LazyStore(client, self._own if key is None else group_of(key))
        self._segments: List[_Segment] = []
        self._changed = threading.Condition()
        #: Calls that may be grouped, by function, and tasks that are sent as they are.
        self._single: "collections.OrderedDict[str, Tuple[Function, Deque[Call]]]" = collections.OrderedDict()
        self._ready: Deque[_Task] = collections.deque()
        self._paces: Dict[str, _Pace] = {}
        self._named = 0
        self._is_closed = False
        self._sender: Optional[threading.Thread] = None
        self._unfinished = 0
        self._digest = hashlib.sha256()

    def call(self, function: Function, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Call:
        """Returns the next call, which `put` runs."""
        data = packed_args(function, args, kwargs, self._store)
        identity = identity_of(function, args, kwargs) if self.key is not None else ""
        with self._changed:
            self._named += 1
            name = f"{self._own}/{self._named}" if self.key is None else f"{self.key}/{self._named}/{identity}"
        return Call(TaskFuture(), name, data)

    def put(self, function: Function, calls: List[Call], alone: bool = False) -> None:
        with self._changed:
            for call in calls:
                call.future.lane = self
            self._unfinished += 1
            if len(calls) == 1 and self._groups and not alone:
                _, waiting = self._single.setdefault(function.digest, (function, collections.deque()))
                waiting.append(calls[0])
            else:
                self._ready.append(_Task(function, calls))
            if self._sender is None:
                self._sender = threading.Thread(target=self._send_all, name="goshawk-submit", daemon=True)
                self._sender.start()
            self._changed.notify_all()

    def cancel(self, futures: List[TaskFuture], is_all: bool = True) -> bool:
        """
        Cancels the calls, those of one job with one request. The other calls of a task run again. Returns whether no call has ended.
        """
        chosen = [future for future in futures if not future.done()]
        by_segment: List[Tuple[_Segment, List[int]]] = []
        for segment in self._segments:
            with segment.lock:
                indices = sorted({each.index for each in chosen if each.job is segment.job and each.index in segment.tasks})
            if indices:
                by_segment.append((segment, [index for index in indices if index is not None]))
        is_done = True
        wanted = set(map(id, chosen))
        for segment, indices in by_segment:
            others = []
            with segment.lock:
                for index in indices:
                    task = segment.tasks.get(index)
                    rest = [call for call in task.calls if id(call.future) not in wanted] if task else []
                    if task is not None and rest and len(task.calls) > 1:
                        segment.tasks[index] = _Task(task.function, [call for call in task.calls if id(call.future) in wanted])
                        others.append((task.function, rest))
            counts = segment.job.cancel(tasks=task_ranges(indices)).get("tasks", {})
            for function, rest in others:
                for call in rest:
                    self.put(function, [call], alone=True)
            is_done = is_done and bool(counts.get("cancelled") or counts.get("killing"))
        if is_all:
            for future in chosen:
                Future.cancel(future)
        return is_done

    def close(self, cancel: bool = False) -> None:
        """Takes no more calls. `cancel` cancels those that have not ended."""
        with self._changed:
            self._is_closed = True
            waiting: List[Call] = []
            if cancel:
                waiting = [call for task in self._ready for call in task.calls]
                waiting += [call for _, calls in self._single.values() for call in calls]
                self._unfinished -= len(self._ready) + sum(len(calls) for _, calls in self._single.values())
                self._ready.clear()
                self._single.clear()
            self._changed.notify_all()
        for call in waiting:
            Future.cancel(call.future)
            call.future.settle()
        if cancel:
            for segment in self._segments:
                with segment.lock:
                    left = [call.future for task in segment.tasks.values() for call in task.calls]
                if left:
                    self.cancel(left)

    def join(self) -> None:
        if self._sender is not None:
            self._sender.join()
        for segment in self._segments:
            segment.follower.join()

    def finish(self, task: _Task, result: TaskResult) -> None:
        """Settles the futures of an ended task. Calls of a task that has died run again, each in its own task."""
        try:
            value = result.value
            if is_result(value) and len(value["python"]) == len(task.calls):
                if self._groups:
                    self._learn(task, value)
                for call, one in zip(task.calls, value["python"]):
                    if one.get("again") is True:
                        self.put(task.function, [call], alone=one.get("grouped") is not True)
                    else:
                        _finish(call, one, self._store)
                return
            if isinstance(result.error, TaskCancelled):
                for call in task.calls:
                    Future.cancel(call.future)
                    call.future.settle(error=result.error)
            elif len(task.calls) > 1:
                for call in task.calls:
                    self.put(task.function, [call], alone=True)
            elif result.error is None:
                why = "its process ended without a result, for example in os._exit()"
                _settle_all(task, TaskFailed(result.index, why, "no-result"))
            else:
                _settle_all(task, _failure(result.error))
        except BaseException as error:
            _settle_all(task, error)
        finally:
            self._end(task)

    def fail(self, task: _Task, error: BaseException) -> None:
        _settle_all(task, error)
        self._end(task)

    def _fail_all(self, tasks: List[_Task], error: BaseException) -> None:
        for task in tasks:
            self.fail(task, error)

    def _end(self, task: _Task) -> None:
        with self._changed:
            if not task.has_ended:
                task.has_ended = True
                self._unfinished -= 1
                self._changed.notify_all()

    def _learn(self, task: _Task, value: Mapping[str, Any]) -> None:
        seconds = value.get("seconds")
        if not isinstance(seconds, (int, float)):
            return
        with self._changed:
            pace = self._paces.setdefault(task.function.digest, _Pace())
            pace.learn(seconds)
            sizes = [len(one.get("pickle", "")) for one in value["python"]]
            pace.result_bytes = max(pace.result_bytes, max(sizes))
            self._changed.notify_all()

    def _send_all(self) -> None:
        while True:
            with self._changed:
                batch = self._next_batch()
                while not batch and not (self._is_closed and self._unfinished == 0):
                    # A pause ends when a function may be called more often, though nothing is known of it.
                    self._changed.wait(FIRST_PAUSE_SECONDS if self._single else None)
                    batch = self._next_batch()
                if not batch:
                    break
            kept = self._without_cancelled(batch)
            try:
                self._send(kept)
            except BaseException as error:
                self._fail_all(kept, error)
                # It is unknown which tasks the job has, so further calls go to another one.
                if self._segments:
                    self._segments[-1].is_closed = True
            # Futures that the program has dropped must not keep their values.
            del batch, kept
        self._close_segments()

    def _next_batch(self) -> List[_Task]:
        batch: List[_Task] = []
        size = 0
        now = time.monotonic()
        for digest in list(self._single):
            function, calls = self._single[digest]
            pace = self._paces.setdefault(digest, _Pace())
            if len(self._paces) > FUNCTIONS_MAX:
                del self._paces[next(iter(self._paces))]
            room = pace.room(now) if pace.seconds is None else BATCH_TASKS_MAX
            if pace.seconds is None:
                count = 1
            else:
                count = min(
                    int(GROUP_SECONDS / max(pace.seconds, 1e-6)),
                    len(calls) // GROUPS_MIN,
                    INLINE_BYTES_MAX // (2 * pace.result_bytes + 200),
                )
            before = len(calls)
            made = 0
            while calls and made < room and len(batch) < BATCH_TASKS_MAX and size < BATCH_BYTES_MAX:
                task = _Task(function, [], is_group=True)
                length = 0
                while calls and len(task.calls) < max(1, count) and length < BATCH_BYTES_MAX // GROUPS_MIN:
                    call = calls.popleft()
                    task.calls.append(call)
                    length += size_of(call)
                batch.append(task)
                made += 1
                size += task.size
            pace.sent += made
            self._unfinished += made - (before - len(calls))
            if not calls:
                del self._single[digest]
        while self._ready and len(batch) < BATCH_TASKS_MAX and size < BATCH_BYTES_MAX:
            task = self._ready.popleft()
            batch.append(task)
            size += task.size
        return batch

    def _close_segments(self) -> None:
        for segment in self._segments:
            if segment.has_ended:
                continue
            try:
                segment.job.append([], first=0, close=True)
            except GoshawkError:
                # It is closed, or closes by itself after a while.
                continue

    def _without_cancelled(self, batch: List[_Task]) -> List[_Task]:
        if self.key is not None:
            return batch
        kept = []
        for task in batch:
            calls = [call for call in task.calls if not call.future.cancelled()]
            for call in task.calls:
                if call.future.cancelled():
                    call.future.settle()
            if calls:
                kept.append(_Task(task.function, calls, task.is_group))
            else:
                self._end(task)
        return kept

    def _send(self, kept: List[_Task]) -> None:
        while kept:
            segment = self._segment()
            if segment.known > segment.made:
                kept = self._skip(segment, kept)
                continue
            try:
                self._append(segment, kept)
                return
            except Conflict as error:
                if error.code != "not-open":
                    raise
                segment.is_closed = True

    def _skip(self, segment: _Segment, tasks: List[_Task]) -> List[_Task]:
        """Gives tasks that the job already has their results. Returns the others."""
        count = min(len(tasks), segment.known - segment.made)
        for task in tasks[:count]:
            _add_to(self._digest, task)
            segment.made += 1
            segment.register(segment.made - 1, task)
        if segment.made == segment.known and self._digest.hexdigest() != segment.digest:
            raise Conflict(
                f"the calls with the key {self.key!r} differ from those of an earlier run",
                "key-conflict",
                "make the same calls in the same order, or use another key",
            )
        return tasks[count:]

    def _append(self, segment: _Segment, tasks: List[_Task]) -> None:
        first = segment.count
        digest = self._digest.copy()
        orders = []
        for task in tasks:
            _add_to(digest, task)
            limit = GROUP_SECONDS_MAX if task.is_group else None
            named = [(call.name, call.args) for call in task.calls]
            orders.append({"stdin": order_of(task.function, named, self._store, limit)})
        with segment.lock:
            segment.count += len(tasks)
            segment.made += len(tasks)
        for at, task in enumerate(tasks):
            segment.register(first + at, task)
        try:
            segment.job.append(
                orders,
                first=first,
                common=self._task,
                digest=digest.hexdigest() if self.key is not None else "",
                taken=0 if self.key is not None else segment.taken,
            )
        except BaseException:
            for at in range(len(tasks)):
                segment.forget(first + at)
            with segment.lock:
                segment.count -= len(tasks)
                segment.made -= len(tasks)
            for task in tasks:
                for call in task.calls:
                    call.future.job = call.future.index = None
            raise
        self._digest = digest
        # A call may have been cancelled while it was appended.
        late = [task.calls[0].future.index for task in tasks if all(call.future.cancelled() for call in task.calls)]
        if late:
            try:
                segment.job.cancel(tasks=task_ranges(index for index in late if index is not None))
            except GoshawkError:
                pass

    def _segment(self) -> _Segment:
        if self._segments:
            last = self._segments[-1]
            if last.known > last.made or not (last.is_closed or last.has_ended):
                return last
        number = len(self._segments) + 1
        self._digest = hashlib.sha256()
        key = uuid.uuid4().hex if self.key is None else self.key if number == 1 else f"{self.key}#{number}"
        job = self._client.submit(self._job, key=key)
        state = job.append([], first=0) if self.key is not None else {"tasks": 0, "digest": "", "closed": False}
        if state["tasks"] > 0 and state["state"] in ENDED:
            _run_cancelled(job)
        self._store.note_job(job.id)
        segment = _Segment(self, job, state["tasks"], state["digest"], state["closed"])
        self._segments.append(segment)
        segment.follower.start()
        return segment


def _add_to(digest: Any, task: _Task) -> None:
    for call in task.calls:
        digest.update(call.name.encode())
    digest.update(b"\n")


def _settle_all(task: _Task, error: BaseException) -> None:
    for call in task.calls:
        call.future.settle(error=error)


def _run_cancelled(job: Job) -> None:
    """Runs the calls that were cancelled with the program that made them."""
    cancelled = [result.index for result in job.raw_results_so_far() if result.state == "cancelled"]
    if cancelled:
        job.retry(tasks=task_ranges(cancelled))


def _finish(call: Call, one: Mapping[str, Any], store: LazyStore) -> None:
    try:
        outcome = outcome_of(one, store, call.name)
        if isinstance(outcome, Raised):
            call.future.settle(error=outcome.error)
        else:
            call.future.settle(value=outcome)
    except BaseException as error:
        call.future.settle(error=error)


def _failure(failure: TaskFailed) -> BaseException:
    """Returns the exception that the message names, where the exception itself is lost."""
    if failure.code != "exit-code":
        return failure
    kind, _, message = failure.reason.partition(": ")
    known = getattr(builtins, kind, None)
    if isinstance(known, type) and issubclass(known, Exception):
        try:
            return known(message)
        except TypeError:
            pass
    return RemoteError(kind, message) if kind.isidentifier() else failure
