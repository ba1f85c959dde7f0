"""A joblib backend on a Goshawk cluster:

    import goshawk.joblib
    from joblib import Parallel, delayed, parallel_backend

    with parallel_backend("goshawk", n_jobs=-1):
        Parallel()(delayed(function)(item) for item in items)
"""

from concurrent.futures import wait

from joblib import register_parallel_backend  # type: ignore[import]
from joblib._parallel_backends import ParallelBackendBase  # type: ignore[import]

from .executor import Executor, cancel_all


class GoshawkBackend(ParallelBackendBase):
    """Runs each batch of calls as a task; `parallel_backend` accepts `executor` arguments such as `retries`."""

    supports_retrieve_callback = True

    def __init__(self, nesting_level=None, inner_max_num_threads=None, **executor):
        super().__init__(nesting_level=nesting_level, inner_max_num_threads=inner_max_num_threads)
        self._arguments = {"name": "joblib", **executor}
        self._executor = None
        self._futures = set()

    def effective_n_jobs(self, n_jobs):
        if n_jobs is not None and n_jobs > 0:
            return n_jobs
        return max(1, sum(worker["slots"] for worker in self._running().client.workers()))

    def submit(self, func, callback=None):
        future = self._running().submit(func)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    def apply_async(self, func, callback=None):
        """Is `submit` of joblib before 1.4, which takes the value with `get`."""
        future = self.submit(func, callback)
        future.get = future.result
        return future

    def retrieve_result_callback(self, out):
        return out.result()

    def abort_everything(self, ensure_ready=True):
        futures = list(self._futures)
        cancel_all(futures)
        wait(futures)
        if not ensure_ready:
            self.terminate()

    def terminate(self):
        if self._executor is not None:
            self._executor.shutdown()
            self._executor = None

    def _running(self):
        if self._executor is None:
            self._executor = Executor(**self._arguments)
        return self._executor


register_parallel_backend("goshawk", GoshawkBackend)
