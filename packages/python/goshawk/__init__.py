"""Goshawk from Python: `Client` submits and follows jobs over HTTP, `Executor` runs functions on the cluster."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
        UntrustedResult,
        WaitTimeout,
    )
    from .executor import Executor
    from .local_cluster import LocalCluster
    from .progress import Progress

_MODULES = {
    "client": ("Client", "Job", "TaskResult", "command"),
    "errors": (
        "Conflict",
        "Denied",
        "GoshawkError",
        "InvalidRequest",
        "JobFailed",
        "NotFound",
        "RemoteError",
        "TaskCancelled",
        "TaskFailed",
        "Unreachable",
        "UntrustedResult",
        "WaitTimeout",
    ),
    "executor": ("Executor",),
    "local_cluster": ("LocalCluster",),
    "progress": ("Progress",),
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_PLACES)


def __getattr__(name: str) -> Any:
    """Imports on first use: interpreters on workers start in half of the time without the client."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)


def __dir__() -> Any:
    return sorted([*globals(), *__all__])
