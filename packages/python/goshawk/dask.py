"""A Dask scheduler on a Goshawk cluster:

    import dask, goshawk.dask

    with dask.config.set(scheduler=goshawk.dask.get):
        print(dask.delayed(sum)([1, 2]).compute())
"""

from __future__ import annotations

from typing import Any, Optional

from dask.local import get_async

from ._codec import describe_exception, exception_of
from .executor import Executor


def get(dsk: Any, keys: Any, executor: Optional[Executor] = None, num_workers: Optional[int] = None, **options: Any) -> Any:
    """
    Computes keys of a graph; each of its tasks is a call. Without `executor`, a new one runs them. `num_workers` tasks are submitted at a
    time, by default twice as many as the cluster has slots.
    """
    if executor is None:
        with Executor(name="dask") as own:
            return get(dsk, keys, own, num_workers, **options)
    count = num_workers or 2 * max(1, sum(worker["slots"] for worker in executor.client.workers()))
    options.pop("pool", None)
    return get_async(executor.submit, count, dsk, keys, pack_exception=_pack, raise_exception=_raise, **options)


def _pack(error: BaseException, dumps: Any) -> Any:
    """Serializes an exception as the executor does: tracebacks cannot be pickled."""
    return dumps((describe_exception(error), None))


def _raise(described: Any, _traceback: Any = None) -> None:
    raise exception_of(described)
