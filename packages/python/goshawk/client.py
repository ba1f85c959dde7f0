"""The HTTP client of a cluster's gateway (`goshawk up --dashboard`, `goshawk dashboard`)."""

from __future__ import annotations

import json
import os
import random
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
import warnings
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException, HTTPResponse
from numbers import Real
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ._loading import check_not_loading
from .discovery import find_gateway
from .errors import (
    Conflict,
    Denied,
    GoshawkError,
    InvalidRequest,
    JobFailed,
    NotFound,
    TaskCancelled,
    TaskFailed,
    Unreachable,
    UntrustedResult,
    WaitTimeout,
)
from .progress import Progress

#: A gateway that has never answered is reported after this time; one that has answered may restart.
FIRST_ANSWER_SECONDS = 2.5
#: Streams send data every 15 s, so a longer silence means that the connection is lost.
STREAM_TIMEOUT = 60.0
#: Maximum time that one request waits for the end of a job.
WAIT_SECONDS_MAX = 30.0
ENDED = ("completed", "failed", "cancelled")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def command(*argv: str, **fields: Any) -> Dict[str, Any]:
    """Returns a task that runs a command; `fields` are those of a job file, such as `cwd`, `env` and `stdin`."""
    return {"exec": [str(word) for word in argv], **fields}


@dataclass(frozen=True)
class TaskResult:
    """Result of a task: `value` or `error`."""

    index: int
    stage: str
    state: str
    attempt: int
    value: Any
    error: Optional[TaskFailed]
    exit_code: Optional[int]

    def get(self) -> Any:
        """Returns the value; raises the error of a task that did not complete."""
        if self.error is not None:
            raise self.error
        return self.value


class Client:
    """
    Connects to one gateway: that of `url`, or the one that `discovery.find_gateway` finds. Requests are retried for up to `retry_for`
    seconds if the gateway or the cluster stops responding (default: 120 s, and 2.5 s for the first answer); submissions and
    retries carry a key, which makes them idempotent.
    """

    def __init__(
        self,
        url: Optional[str] = None,
        token: Optional[str] = None,
        timeout: Optional[float] = 60.0,
        retry_for: Optional[float] = None,
    ):
        check_not_loading()
        found = find_gateway() if not url else None
        self.url = _checked_url(found.url if found is not None else str(url))
        if timeout is not None and not (_is_seconds(timeout) and 0 < timeout <= threading.TIMEOUT_MAX):
            raise _not_seconds("timeout", timeout, "use a number above 0, or None")
        if retry_for is not None and not (_is_seconds(retry_for) and retry_for >= 0):
            raise _not_seconds("retry_for", retry_for, "use a number of at least 0")
        self.timeout = timeout
        self.retry_for = 120.0 if retry_for is None else retry_for
        self._first_for = FIRST_ANSWER_SECONDS if retry_for is None else retry_for
        self._has_answered = False
        #: Idle connections, with the process that has opened each: a child must not share those of its parent.
        self._idle: List[Tuple[int, HTTPConnection]] = []
        if token is not None:
            self._token = token
        else:
            self._token = found.token if found is not None else os.environ.get("GOSHAWK_TOKEN", "")
        if not _is_word(self._token):
            hint = "check GOSHAWK_TOKEN" if token is None else "a token is printable ASCII without spaces"
            raise InvalidRequest("the token has characters that no request can contain", "bad-token", hint)
        parts = urllib.parse.urlsplit(self.url)
        is_local = parts.hostname in _LOOPBACK
        #: Host and port to which requests keep a connection. Others may need a proxy.
        self._direct = (parts.hostname or "", parts.port or 80) if is_local and parts.scheme == "http" else None
        self._base = parts.path
        handlers = [urllib.request.ProxyHandler({})] if is_local else []
        self._opener = urllib.request.build_opener(_NoRedirect, *handlers)

    def __del__(self) -> None:
        for pid, connection in getattr(self, "_idle", ()):
            if pid == os.getpid():
                connection.close()

    def submit(
        self,
        job: Optional[Mapping[str, Any]] = None,
        *,
        tasks: Union[Sequence[Mapping[str, Any]], Mapping[str, Any], None] = None,
        key: Optional[str] = None,
        **fields: Any,
    ) -> "Job":
        """
        Submits a job: the fields of a job file, as a mapping, by name, or both. Submissions with the same `key` are
        the same job. Paths must be absolute. Commands without `cwd` run in the current folder.
        """
        check_not_loading()
        body = {**(job or {}), **fields}
        if tasks is not None:
            body["tasks"] = tasks
        if key is not None:
            body["key"] = key
        body.setdefault("key", str(uuid.uuid4()))
        parent = _parent(os.environ)
        if parent is not None:
            body.setdefault("parent", parent)
        answer = self.request("POST", "/v1/jobs", _with_folder(body, os.getcwd()))
        return Job(self, answer["job"])

    def job(self, id: str) -> "Job":
        """Returns a handle of the job with this id, submitted by any client."""
        return Job(self, id)

    def jobs(self, **query: Any) -> List[Dict[str, Any]]:
        """Returns active jobs and the last ended ones, filtered by `state`, `user`, `all`, `limit` and `from_`."""
        return self.request("GET", "/v1/jobs", query=query)["jobs"]

    def workers(self) -> List[Dict[str, Any]]:
        return self.request("GET", "/v1/workers")["workers"]

    def cancel_jobs(self, **chosen: Any) -> Dict[str, Any]:
        """Cancels all jobs that match `user`, `name` (with * and ?), `state`, or `all=True`."""
        return self.request("POST", "/v1/jobs/cancel", chosen)

    def request(
        self,
        method: str,
        path: str,
        body: Optional[Mapping[str, Any]] = None,
        query: Optional[Mapping[str, Any]] = None,
        within: Optional[float] = None,
    ) -> Any:
        """
        Sends a request to the HTTP API and returns its JSON response. POST requests must be idempotent. Retries for at most `within`
        seconds.
        """
        end = time.monotonic() + self._patience(within)
        while True:
            try:
                answer = json.loads(self._ask(method, path, body, query))
                self._has_answered = True
                return answer
            except Unreachable as error:
                lost = error
            except GoshawkError:
                raise
            except ValueError as error:
                hint = "check GOSHAWK_API: `goshawk dashboard` prints the address"
                raise GoshawkError(f"{self.url} is not a gateway: its answer is not JSON", "no-gateway", hint) from error
            except (OSError, HTTPException) as error:
                lost = Unreachable(f"{self.url}: {error}", "unreachable")
            left = end - time.monotonic()
            if left <= 0:
                if not self._has_answered and not lost.hint:
                    hint = "start it with `goshawk dashboard`, or set GOSHAWK_API to the address that it prints"
                    raise Unreachable(lost.message, lost.code, hint) from lost
                raise lost
            # The jitter spreads the retries of clients that lose the same gateway at the same time.
            time.sleep(min(left, random.uniform(0.1, 1.0)))

    def send_bytes(self, path: str, content: Any, query: Mapping[str, Any]) -> Any:
        """Sends a part of a large value, and returns the JSON response."""
        return json.loads(self._bytes("POST", path, content, query))

    def read_bytes(self, path: str, query: Mapping[str, Any]) -> bytes:
        """Reads a part of a large value."""
        return self._bytes("GET", path, None, query)

    def _bytes(self, method: str, path: str, content: Any, query: Mapping[str, Any]) -> bytes:
        end = time.monotonic() + self._patience()
        while True:
            try:
                with self._open(method, path, content, query, {"accept": "*/*"}, self.timeout) as answer:
                    return answer.read()
            except Unreachable:
                if time.monotonic() > end:
                    raise
            except (OSError, HTTPException) as error:
                if time.monotonic() > end:
                    raise Unreachable(f"{self.url}: {error}", "unreachable") from error
            time.sleep(random.uniform(0.1, 1.0))

    def _patience(self, within: Optional[float] = None) -> float:
        patience = self.retry_for if self._has_answered else min(self.retry_for, self._first_for)
        return patience if within is None else min(patience, within)

    def _ask(
        self,
        method: str,
        path: str,
        body: Optional[Mapping[str, Any]],
        query: Optional[Mapping[str, Any]],
    ) -> bytes:
        """Sends a request once. Connections to this machine are kept."""
        if self._direct is None:
            with self._open(method, path, body, query, {}, self.timeout) as answer:
                return answer.read()
        data = None if method == "GET" else _encoded(body or {})
        headers = {"accept": "application/json"}
        if data is not None:
            headers["content-type"] = "application/json"
        if self._token:
            headers["authorization"] = f"Bearer {self._token}"
        target = self._base + path + _query(query)
        try:
            pid, kept = self._idle.pop()
        except IndexError:
            pid, kept = 0, None
        kept = kept if pid == os.getpid() else None
        for connection in [kept, HTTPConnection(*self._direct, timeout=self.timeout)]:
            if connection is None:
                continue
            try:
                connection.request(method, target, data, headers)
                answer = connection.getresponse()
            except (HTTPException, OSError) as error:
                connection.close()
                if connection is kept and not isinstance(error, socket.timeout):
                    # The gateway closes connections that are idle for long, and may have restarted.
                    continue
                raise Unreachable(f"{self.url} does not answer: {error}", "unreachable") from error
            content = answer.read()
            self._idle.append((os.getpid(), connection))
            if answer.status < 300:
                return content
            to = answer.headers.get("location")
            if answer.status < 400 and to is not None:
                url = self.url + path
                raise _redirected(self.url, urllib.parse.urljoin(url, to), path, answer.status)
            raise _refusal(answer.status, content)
        raise AssertionError("the second connection answers or raises")

    def stream(self, path: str, query: Optional[Mapping[str, Any]] = None) -> Iterator[Tuple[str, Any]]:
        """
        Yields the server-sent events of a path, as (event, data), until `ended`. After a lost connection, it reconnects
        and the stream starts again.
        """
        headers = {"accept": "text/event-stream"}
        quiet_since: Optional[float] = None
        pause = 0.1
        while True:
            try:
                with self._open("GET", path, None, query, headers, STREAM_TIMEOUT) as answer:
                    self._has_answered = True
                    for event, data in _events(answer):
                        # Keepalives show that the gateway works, too: the first result may take hours.
                        quiet_since, pause = None, 0.1
                        if event is None:
                            continue
                        yield event, data
                        if event == "ended":
                            return
                lost: GoshawkError = Unreachable(f"{self.url} closed the stream", "stream-closed")
            except Unreachable as error:
                lost = error
            except GoshawkError:
                raise
            except (OSError, HTTPException) as error:
                lost = Unreachable(f"{self.url}: {error}", "unreachable")
            now = time.monotonic()
            quiet_since = now if quiet_since is None else quiet_since
            if now - quiet_since > self._patience():
                raise lost
            time.sleep(pause)
            pause = min(pause * 2, 2.0)

    def _open(
        self,
        method: str,
        path: str,
        body: Any,
        query: Optional[Mapping[str, Any]],
        headers: Mapping[str, str],
        timeout: Optional[float],
    ) -> HTTPResponse:
        url = self.url + path + _query(query)
        is_json = body is None or isinstance(body, Mapping)
        data = None if method == "GET" else _encoded(body or {}) if is_json else bytes(body)
        request = urllib.request.Request(url, data, {"accept": "application/json", **headers}, method=method)
        if data is not None:
            request.add_header("content-type", "application/json" if is_json else "application/octet-stream")
        if self._token:
            request.add_header("authorization", f"Bearer {self._token}")
        try:
            return self._opener.open(request, timeout=timeout)
        except urllib.error.HTTPError as error:
            to = error.headers.get("location")
            if 300 <= error.code < 400 and to is not None:
                raise _redirected(self.url, urllib.parse.urljoin(url, to), path, error.code) from None
            raise _refused(error) from None
        except (urllib.error.URLError, HTTPException, ConnectionError, socket.timeout) as error:
            reason = getattr(error, "reason", error)
            raise Unreachable(f"{self.url} does not answer: {reason}", "unreachable") from error


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: urllib would change POST to GET, and send the token to any other host."""

    def redirect_request(self, *args: Any) -> None:
        return None


def _redirected(url: str, to: str, path: str, status: int) -> GoshawkError:
    at = to.partition(path)[0] if path in to else to
    return InvalidRequest(f"{url} redirects to {to}", "redirected", f"use the address {at}", status)


class Job:
    """A job of the cluster."""

    def __init__(self, client: Client, id: str):
        if not isinstance(id, str) or id == "" or not _is_utf8(id):
            raise InvalidRequest(f"{id!r} is not the id of a job", "bad-id", "`submit` returns a job")
        self.client = client
        self.id = id

    def __repr__(self) -> str:
        return f"<goshawk job {self.id}>"

    def describe(self) -> Dict[str, Any]:
        """Returns the job as `goshawk job --json` prints it."""
        return self.client.request("GET", self._path())

    @property
    def state(self) -> str:
        return self.describe()["state"]

    def wait(self, timeout: Optional[float] = None, progress: bool = False) -> Dict[str, Any]:
        """Waits until the job has ended in any state. Raises `WaitTimeout`; the job then continues."""
        if timeout is not None and not _is_seconds(timeout):
            raise _not_seconds("timeout", timeout, "use a number, or None")
        end = None if timeout is None else time.monotonic() + timeout
        bar: Optional[Progress] = None
        try:
            while True:
                left = WAIT_SECONDS_MAX if end is None else max(0.0, end - time.monotonic())
                wait = min(left, 1.0 if progress else WAIT_SECONDS_MAX)
                try:
                    job = self.client.request("GET", self._path(), query={"wait": wait}, within=None if end is None else left)
                except Unreachable as error:
                    if end is None or time.monotonic() < end:
                        raise
                    raise WaitTimeout(f"job {self.id}: {error.message} after {timeout} s", "wait-timeout") from error
                if progress:
                    bar = bar or Progress(job["tasks"]["total"], self.id)
                    counts = job["tasks"]
                    done = counts["completed"] + counts["failed"] + counts["cancelled"]
                    bar.update(done, counts["failed"], counts["total"])
                if job["state"] in ENDED:
                    return job
                if end is not None and time.monotonic() >= end:
                    raise WaitTimeout(f"job {self.id} is {job['state']} after {timeout} s", "wait-timeout")
        finally:
            if bar is not None:
                bar.close()

    def results(self, timeout: Optional[float] = None, progress: bool = False) -> List[TaskResult]:
        """Waits, and returns the value or error of each task, by index."""
        self.wait(timeout, progress)
        return self.results_so_far()

    def results_so_far(self) -> List[TaskResult]:
        """Returns the current result of each task; `state` shows which ones have not ended."""
        return [_decoded(self.client, result) for result in self.raw_results_so_far()]

    def raw_results_so_far(self) -> List[TaskResult]:
        """Returns the same with the JSON values of Python calls, which are not unpickled."""
        found: List[TaskResult] = []
        start: Optional[int] = 0
        while start is not None:
            page = self.client.request("GET", self._path("/results"), query={"from": start})
            found.extend(_result(row) for row in page["results"])
            start = page["next"]
        return found

    def values(self, timeout: Optional[float] = None, progress: bool = False) -> List[Any]:
        """Waits, and returns the values of all tasks. Raises `JobFailed`, which has the results, if one failed."""
        results = self.results(timeout, progress)
        if any(result.state != "completed" or result.error is not None for result in results):
            raise JobFailed(self.id, self.state, results)
        return [result.value for result in results]

    def as_completed(self) -> Iterator[TaskResult]:
        """Yields the result of each task when it ends. Values and exceptions of Python calls are unpickled."""
        for result in self.raw_results():
            yield _decoded(self.client, result)

    def raw_results(self) -> Iterator[TaskResult]:
        """Yields the same with the JSON values of Python calls, which are not unpickled."""
        seen = set()
        for event, data in self.client.stream(self._path("/results")):
            if event == "result" and data["index"] not in seen:
                seen.add(data["index"])
                yield _result(data)

    def events(self) -> Iterator[Dict[str, Any]]:
        """Yields progress of the job: occasional summaries, and the whole job at its end."""
        for event, data in self.client.stream(self._path("/events")):
            yield {"event": event, **data}

    def logs(
        self,
        task: Optional[int] = None,
        failed: Optional[bool] = None,
        attempt: Union[int, str, None] = None,
    ) -> List[Dict[str, Any]]:
        """
        Returns the output of the tasks so far: `task`, `attempt`, `stream`, `text` and `at`, its time of arrival, of each chunk. By
        default of the last attempt of each task; `attempt` is a number, or "all". Warns if output is missing.
        """
        answer = self._logs(task=task, failed=failed, attempt=attempt)
        if answer["truncated"]:
            why = answer["missing"] or "the response would be too long"
            warnings.warn(f"some output is missing: {why}", stacklevel=2)
        return answer["chunks"]

    def _logs(self, **query: Any) -> Dict[str, Any]:
        return self.client.request("GET", self._path("/logs"), query=query)

    def append(
        self,
        tasks: Sequence[Mapping[str, Any]],
        *,
        first: int,
        common: Optional[Mapping[str, Any]] = None,
        digest: str = "",
        close: bool = False,
        taken: int = 0,
    ) -> Dict[str, Any]:
        """
        Appends tasks to a job that was submitted with `open`, from the index `first` on, or closes it. Tasks that it already has are
        skipped. Returns its state and number of `tasks`.
        """
        body = {"tasks": list(tasks), "first": first, "digest": digest, "close": close, "taken": taken, "common": common or {}}
        return self.client.request("POST", self._path("/tasks"), body)

    def cancel(self, tasks: Optional[str] = None, stage: Optional[str] = None) -> Dict[str, Any]:
        """Cancels the job, or some of its tasks ("7-20,31")."""
        return self.client.request("POST", self._path("/cancel"), _given(tasks=tasks, stage=stage))

    def retry(
        self,
        tasks: Optional[str] = None,
        failed: Optional[bool] = None,
        key: Optional[str] = None,
        as_new: Optional[bool] = None,
        stage: Optional[str] = None,
    ) -> "Job":
        """
        Reruns tasks that did not complete, of one stage if it is given, within the same job. With `as_new` they run as a new job, which
        keeps their indices and is returned; this one stays unchanged.
        """
        body = _given(tasks=tasks, stage=stage, failed=failed, asNew=as_new, key=key or str(uuid.uuid4()))
        again = self.client.request("POST", self._path("/retry"), body)
        return Job(self.client, again["job"]) if as_new else self

    def why(self, task: Optional[int] = None) -> str:
        """Returns a sentence about why the job or a task waits, or where its time went."""
        return self.client.request("GET", self._path("/why"), query={"task": task})["sentence"]

    def hold(self) -> Dict[str, Any]:
        return self.client.request("POST", self._path("/hold"))

    def release(self) -> Dict[str, Any]:
        return self.client.request("POST", self._path("/release"))

    def _path(self, rest: str = "") -> str:
        return f"/v1/jobs/{urllib.parse.quote(self.id, safe='')}{rest}"


def _given(**fields: Any) -> Dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _query(query: Optional[Mapping[str, Any]]) -> str:
    given = {
        name.rstrip("_"): str(value).lower() if isinstance(value, bool) else value
        for name, value in (query or {}).items()
        if value is not None
    }
    for name, value in given.items():
        if not _is_utf8(str(value)):
            raise InvalidRequest(f"{name}: {value!r} is not text: it has half of a character", "bad-request")
    return "?" + urllib.parse.urlencode(given) if given else ""


def _checked_url(url: str) -> str:
    address, hash, _ = url.partition("#")
    try:
        parts = urllib.parse.urlsplit(address)
        is_http = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_http = False
    if not is_http or not _is_word(address):
        raise InvalidRequest(f"{address!r} is not the address of a gateway", "bad-url", "use http://HOST:PORT")
    if hash:
        raise InvalidRequest(f"{address} has a part after #", "bad-url", "omit it, and pass the token as GOSHAWK_TOKEN")
    return address.rstrip("/")


def _is_word(text: Any) -> bool:
    return isinstance(text, str) and text.isascii() and text.isprintable() and " " not in text


def _is_utf8(text: str) -> bool:
    return text.encode("utf-8", "replace").decode() == text


def _is_seconds(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and value == value  # NaN differs from itself


def _not_seconds(name: str, value: Any, hint: str) -> InvalidRequest:
    return InvalidRequest(f"{name}: {value!r} is not a valid number of seconds", "bad-time", hint)


def _parent(environment: Mapping[str, str]) -> Optional[Dict[str, Any]]:
    """The task that runs this process, on whose CPUs the job may run if the cluster is full; None outside of tasks."""
    worker, _, match = environment.get("GOSHAWK_RUN", "").rpartition("/")
    job, task = environment.get("GOSHAWK_JOB", ""), environment.get("GOSHAWK_TASK", "")
    if not (worker and job and task.isdecimal() and match.isdecimal()):
        return None
    return {"job": job, "task": int(task), "worker": worker, "match": int(match)}


def _encoded(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(f"{_place_of_fault(body)}: {error}", "bad-request", "use JSON values") from error


def _place_of_fault(value: Any, place: str = "") -> str:
    """Returns the path of the first value that is not JSON."""
    fields: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    for name, each in fields:
        try:
            json.dumps(each, allow_nan=False)
        except (TypeError, ValueError):
            inner = f"[{name}]" if not isinstance(value, dict) else f".{name}" if place else str(name)
            return _place_of_fault(each, place + inner)
        except RecursionError:
            break
    return place or "the request"


def _result(row: Mapping[str, Any]) -> TaskResult:
    index, error, state = row["index"], row["error"], row["state"]
    failure: Optional[TaskFailed] = None
    if error is not None or state in ("failed", "cancelled"):
        kind = TaskCancelled if state == "cancelled" else TaskFailed
        said = error or {"message": state, "code": state, "signal": None}
        failure = kind(index, said["message"], said["code"], row["exitCode"], said["signal"])
    return TaskResult(index, row["stage"], state, row["attempt"], row["value"], failure, row["exitCode"])


def _decoded(client: Client, result: TaskResult) -> TaskResult:
    """Unpickles the value or exception of a Python call of this user, and of no other."""
    from ._calls import Later, Raised, is_result, outcome_of
    from ._values import LazyStore

    if not is_result(result.value):
        return result
    try:
        group = result.value.get("group")
        store = LazyStore(client, group if isinstance(group, str) and group.isalnum() else "")
        outcomes = [outcome_of(one, store) for one in result.value["python"]]
        outcomes = [one.value() if isinstance(one, Later) else one for one in outcomes]
    except (UntrustedResult, TaskFailed) as error:
        failure = TaskFailed(result.index, error.message, error.code)
        failure.__cause__ = error
        return replace(result, value=None, error=failure)
    if result.error is not None:
        if isinstance(outcomes[0], Raised):
            result.error.__cause__ = outcomes[0].error
        return replace(result, value=None)
    values = [one.error if isinstance(one, Raised) else one for one in outcomes]
    return replace(result, value=values if len(values) > 1 else values[0])


def task_ranges(indices: Iterable[int]) -> str:
    """Returns indices as the API accepts them, such as 3,7-9."""
    ranges: List[List[int]] = []
    for index in sorted(indices):
        if ranges and index == ranges[-1][1] + 1:
            ranges[-1][1] = index
        else:
            ranges.append([index, index])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def _with_folder(job: Dict[str, Any], folder: str) -> Dict[str, Any]:
    """Adds this process's folder to commands and modules, since the gateway does not know its clients' folders."""

    def task(each: Any) -> Any:
        if not isinstance(each, Mapping) or "cwd" in each or not ("exec" in each or "module" in each):
            return each
        return {**each, "cwd": folder}

    def tasks(all: Any) -> Any:
        if isinstance(all, Mapping):
            return {**all, "run": task(all["run"])} if "run" in all else all
        return [task(each) for each in all] if isinstance(all, (list, tuple)) else all

    changed = dict(job)
    if "tasks" in job:
        changed["tasks"] = tasks(job["tasks"])
    if isinstance(job.get("stages"), (list, tuple)):
        changed["stages"] = [
            {**stage, "tasks": tasks(stage["tasks"])} if isinstance(stage, Mapping) and "tasks" in stage else stage
            for stage in job["stages"]
        ]
    return changed


def _events(answer: HTTPResponse) -> Iterator[Tuple[Optional[str], Any]]:
    """Yields the events of a stream; a keepalive is an event without name."""
    event, data = "message", []  # type: Tuple[str, List[str]]
    for raw in answer:
        line = raw.decode().rstrip("\r\n")
        if line == "":
            if data:
                yield event, json.loads("\n".join(data))
            event, data = "message", []
        elif line.startswith(":"):
            yield None, None
        elif line.startswith("event:"):
            event = line[6:].strip()
        elif line.startswith("data:"):
            data.append(line[5:].lstrip())


_KINDS = {400: InvalidRequest, 401: Denied, 403: Denied, 404: NotFound, 409: Conflict, 413: InvalidRequest}


def _refused(error: urllib.error.HTTPError) -> GoshawkError:
    try:
        content = error.read()
    except OSError:
        content = b""
    return _refusal(error.code, content)


def _refusal(status: int, content: bytes) -> GoshawkError:
    try:
        body = json.loads(content)
        message, code, hint = body["message"], body["code"], body["hint"]
    except (ValueError, KeyError, TypeError):
        message, code, hint = f"HTTP status {status}", "bad-answer", ""
    if status in (429, 502, 503, 504):
        return Unreachable(message, code, hint)
    kind = _KINDS.get(status, Denied if status == 421 else GoshawkError)
    return kind(message, code, hint, status)
