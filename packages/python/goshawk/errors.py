"""Errors of the client, with the `code` (for programs) and `hint` (for people) of the response."""

from __future__ import annotations

from concurrent.futures import CancelledError
from typing import Any, Optional


class GoshawkError(Exception):
    """Base of all errors of this package."""

    def __init__(self, message: str, code: str = "error", hint: str = "", status: Optional[int] = None):
        super().__init__(f"{message}; {hint}" if hint else message)
        self.message = message
        self.code = code
        self.hint = hint
        self.status = status


class Unreachable(GoshawkError, ConnectionError):
    """The gateway or the cluster did not respond within `retry_for`."""


class InvalidRequest(GoshawkError, ValueError):
    """The request is invalid (400, 413); the message names the field."""


class Denied(GoshawkError, PermissionError):
    """The token does not allow this (401, 403, 421)."""


class NotFound(GoshawkError, LookupError):
    """The job, task, stage or worker does not exist (404)."""


class Conflict(GoshawkError):
    """The state of the job does not allow this (409)."""


class WaitTimeout(GoshawkError, TimeoutError):
    """The wait timed out; the job continues."""


class TaskFailed(GoshawkError):
    """A task failed for the reason `code`; `exit_code` and `signal` are those of its command."""

    def __init__(
        self,
        index: int,
        message: str,
        code: str = "error",
        exit_code: Optional[int] = None,
        signal: Optional[str] = None,
    ):
        super().__init__(f"task {index}: {message}", code)
        self.index = index
        self.reason = message
        self.exit_code = exit_code
        self.signal = signal


class TaskCancelled(TaskFailed, CancelledError):
    """A task was cancelled."""


class JobFailed(GoshawkError):
    """A job failed or was cancelled. `results` has every task's value or error."""

    def __init__(self, job: str, state: str, results: Any):
        failed = [result for result in results if result.state != "completed"]
        first = f"; the first: {failed[0].error}" if failed and failed[0].error else ""
        super().__init__(f"job {job}: {len(failed)} of {len(results)} tasks did not complete{first}", state)
        self.job = job
        self.results = results


class RemoteError(GoshawkError):
    """Replaces an exception of a task that cannot be unpickled here; `kind` is the name of its class."""

    def __init__(self, kind: str, message: str):
        super().__init__(f"{kind}: {message}" if message else kind, "remote-error")
        self.kind = kind


class UntrustedResult(GoshawkError):
    """A result that was not made with the key of this program. It is not unpickled."""

    def __init__(self, message: str):
        super().__init__(message, "untrusted-result")
