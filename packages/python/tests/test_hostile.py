import sys
import unittest

import hostile

from goshawk import Executor, RemoteError, TaskFailed

#: What each call returns, or the exception that a user needs: a type, and a part of its text.
CASES = {
    "exits": (SystemExit, "3"),
    "exits_silently": (RuntimeError, "called sys.exit()"),
    "exits_hard": (TaskFailed, "ended its process with exit code 5"),
    "dies": (TaskFailed, "SIGKILL"),
    "segfaults": (TaskFailed, "SIGSEGV"),
    "aborts": (TaskFailed, "SIGABRT"),
    "forks_and_returns": "twice",
    "forks_and_leaves_a_child": "left",
    "leaves_a_process": "left",
    "closes_stdout": "closed",
    "closes_stderr_and_raises": (KeyError, "closed"),
    "closes_descriptors": "closed",
    "closes_all_files": (TaskFailed, "closed files that it had not opened"),
    "replaces_stderr": (KeyError, "replaced"),
    "leaves_an_unfinished_line": (KeyError, "line"),
    "prints_binary": "binary",
    "prints_much": "much",
    "returns_a_lock": (TypeError, "cannot pickle"),
    "returns_a_generator": (TypeError, "cannot pickle"),
    "raises_in_reduce": (RuntimeError, "no reduce"),
    "raises_an_unpicklable_exception": (RemoteError, "BadException: bad"),
    "returns_what_cannot_be_loaded": (TaskFailed, "cannot be unpickled here: OSError: not on this machine"),
    "recurses": (RecursionError, "maximum recursion depth"),
    "recurses_deeply": ((TaskFailed, RecursionError), ""),
    "returns_nested": (RecursionError, ""),
    "imports_slowly": 42,
    "imports_nothing": (ModuleNotFoundError, "no_such_module"),
    "changes_folder": "changed",
    "removes_its_folder": "removed",
    "changes_environment": "changed",
    "changes_the_path": "changed",
    "leaves_a_thread": "left",
    "leaves_a_printing_thread": "left",
    "sets_handlers": "set",
    "leaves_an_alarm": "set",
    "changes_umask": "changed",
    "registers_at_exit": "registered",
    "changes_recursion": "changed",
    "uses_multiprocessing": [1, 2],
    "uses_spawned_processes": [1, 2],
    "allocates": 400 * 1024 * 1024,
    "leaks": "leaked",
    "raises_with_a_cause": (ValueError, "the effect"),
    "interrupts": (KeyboardInterrupt, ""),
    "reads_stdin": "",
    "lowers_limits": "lowered",
    "raises_surrogates": (ValueError, "half"),
    "opens_many_files": 100,
}
if sys.version_info >= (3, 11):
    CASES["raises_a_group"] = (ExceptionGroup, "several")  # noqa: F821


class HostileTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # One call at a time, so that the next one gets the interpreter of the one before.
        cls.executor = Executor(name="hostile", maxRunning=1)
        cls.before = cls.executor.submit(hostile.state).result(60)

    @classmethod
    def tearDownClass(cls):
        cls.executor.shutdown()

    def check(self, name, expected):
        future = self.executor.submit(getattr(hostile, name))
        error = future.exception(60)
        if isinstance(expected, tuple):
            self.assertIsInstance(error, expected[0])
            self.assertIn(expected[1], str(error))
        else:
            self.assertIsNone(error)
            self.assertEqual(future.result(), expected)
        after = self.executor.submit(hostile.state)
        self.assertEqual(after.result(60), self.before)
        printed = "".join(chunk["text"] for chunk in after.job.logs(task=after.index))
        self.assertEqual(printed, "state\n")

    def test_a_call_that_exceeds_its_timeout_ends_and_the_next_one_is_right(self):
        with Executor(timeout="1s") as executor:
            error = executor.submit(hostile.sleeps).exception(60)
            self.assertIsInstance(error, TaskFailed)
            self.assertEqual(error.code, "timeout")
            self.assertEqual(executor.submit(abs, -1).result(60), 1)

    def test_a_cause_is_kept(self):
        error = self.executor.submit(hostile.raises_with_a_cause).exception(60)
        self.assertIsInstance(error.__cause__, OSError)
        self.assertIn("raises_with_a_cause", str(error.__cause__.__cause__))


def _test(name, expected):
    def test(self):
        self.check(name, expected)

    return test


for _name, _expected in CASES.items():
    setattr(HostileTest, f"test_{_name}", _test(_name, _expected))
