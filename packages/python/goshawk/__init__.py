"""Goshawk from Python: `Client` submits and follows jobs over HTTP, `Executor` runs functions on the cluster."""

from .client import Client, Job, TaskResult, command
from .errors import (
    Conflict,
    Denied,
    GoshawkError,
    InvalidRequest,
    JobFailed,
    NotFound,
    RemoteError,
    TaskCancelled,
    TaskFailed,
    Unreachable,
    WaitTimeout,
)
from .executor import Executor
from .progress import Progress

__all__ = [
    "Client",
    "Conflict",
    "Denied",
    "Executor",
    "GoshawkError",
    "InvalidRequest",
    "Job",
    "JobFailed",
    "NotFound",
    "Progress",
    "RemoteError",
    "TaskCancelled",
    "TaskFailed",
    "TaskResult",
    "Unreachable",
    "WaitTimeout",
    "command",
]
