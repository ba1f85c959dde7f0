import importlib.util
import json
import math
import os
import pickle
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from concurrent.futures import CancelledError, as_completed, wait

import calls

from goshawk import _calls, _task, _values
from goshawk import Executor, RemoteError, TaskFailed

has_cloudpickle = importlib.util.find_spec("cloudpickle") is not None
HERE = os.path.dirname(os.path.abspath(__file__))


class ExecutorTest(unittest.TestCase):
    def setUp(self):
        self.executor = Executor(name=self.id().rsplit(".", 1)[-1][:60])
        self.addCleanup(self.executor.shutdown)

    def test_map_returns_values_in_order(self):
        self.assertEqual(list(self.executor.map(math.factorial, range(6))), [1, 1, 2, 6, 24, 120])
        self.assertEqual(list(self.executor.map(pow, [2, 3], [5, 2])), [32, 9])

    def test_calls_made_together_are_one_job(self):
        futures = [self.executor.submit(calls.square, number) for number in range(5)]
        self.assertEqual([future.result(60) for future in futures], [0, 1, 4, 9, 16])
        self.assertEqual(len({future.job.id for future in futures}), 1)

    def test_only_the_function_prints(self):
        future = self.executor.submit(calls.square, 3)
        self.assertEqual(future.result(60), 9)
        self.assertEqual([chunk["text"] for chunk in future.job.logs() if chunk["stream"] == "stderr"], [])

    def test_as_completed_and_wait_of_the_standard_library_work(self):
        futures = [self.executor.submit(calls.square, number) for number in range(3)]
        self.assertEqual(sorted(future.result() for future in as_completed(futures, 60)), [0, 1, 4])
        self.assertEqual(len(wait(futures, 60).done), 3)

    def test_an_exception_is_raised_here_with_its_remote_traceback(self):
        error = self.executor.submit(calls.score, 9, 4).exception(60)
        self.assertIsInstance(error, calls.Diverged)
        self.assertEqual(error.rate, 9)
        self.assertIn("calls.py", str(error.__cause__))
        self.assertIn("raise Diverged(rate)", str(error.__cause__))

    def test_an_exception_that_cannot_be_pickled_keeps_its_name_message_and_traceback(self):
        error = self.executor.submit(calls.raise_unpicklable).exception(60)
        self.assertIsInstance(error, RemoteError)
        self.assertEqual((error.kind, error.message), ("Unpicklable", "Unpicklable: this and that"))
        self.assertIn("raise Unpicklable", str(error.__cause__))

    def test_an_exception_after_much_output_is_found(self):
        error = self.executor.submit(calls.raise_after_much_output).exception(60)
        self.assertIsInstance(error, KeyError)
        self.assertEqual(error.args, ("after all that",))

    def test_a_process_that_dies_or_exits_is_a_failed_call(self):
        killed, left = self.executor.submit(calls.die), self.executor.submit(calls.leave)
        self.assertIsInstance(killed.exception(60), TaskFailed)
        self.assertEqual(killed.exception().signal, "SIGKILL")
        self.assertIsInstance(left.exception(60), SystemExit)

    def test_a_process_that_leaves_no_result_is_a_failed_call(self):
        with self.assertRaisesRegex(TaskFailed, "ended its process with exit code 0, so it has no result"):
            self.executor.submit(os._exit, 0).result(60)

    def test_exceptions_without_a_message_or_that_become_another_value_keep_their_names(self):
        speechless = self.executor.submit(calls.raise_speechless).exception(60)
        self.assertEqual(speechless.kind if isinstance(speechless, RemoteError) else type(speechless).__name__, "Speechless")
        other = self.executor.submit(calls.raise_number).exception(60)
        self.assertIsInstance(other, RemoteError)
        self.assertEqual(other.kind, "Number")

    def test_fields_that_the_executor_sets_are_refused(self):
        for field in ("tasks", "open", "stages"):
            with self.assertRaisesRegex(TypeError, f"sets {field} itself"):
                Executor(**{field: "x"})

    def test_large_values_and_arguments_are_files(self):
        small, large = self.executor.submit(calls.large, 150_000), self.executor.submit(calls.large, 20_000_000)
        self.assertEqual((len(small.result(60)), len(large.result(60))), (150_000, 20_000_000))
        futures = [self.executor.submit(len, os.urandom(size)) for size in (20_000_000, 1, 5_900_000)]
        self.assertEqual([future.result(60) for future in futures], [20_000_000, 1, 5_900_000])

    def test_values_in_files_outlive_the_files_and_take_no_descriptors(self):
        with tempfile.TemporaryDirectory() as folder:
            store = _values.Folder(folder, "0" * 32)
            values = [os.urandom(size) for size in (70_000, 200_000)]
            held = [_values.opened(_values.pack(value, lambda: store), store) for value in values * 50]
            buffers = [bytearray(value) for value in values]
            parts = _values.pack([pickle.PickleBuffer(each) for each in buffers], lambda: store)
            self.assertEqual(len(parts["buffers"]), 2)
            before = len(os.listdir("/proc/self/fd"))
            many = [store.load(parts["buffers"][0]) for _ in range(2_000)]
            self.assertLess(len(os.listdir("/proc/self/fd")), before + 100)
            # Changes stay private.
            many[0][0] ^= 255
            self.assertNotEqual(many[0][0], many[1][0])
            loaded = _values.opened(parts, store)
        self.assertEqual([load() for load in held], values * 50)
        self.assertEqual([bytes(each) for each in loaded()], values)

    def test_a_large_value_is_unpickled_when_it_is_asked_for_and_once(self):
        future = self.executor.submit(calls.large, 1_000_000)
        with unittest.mock.patch.object(pickle, "load", side_effect=pickle.load) as load:
            self.assertIsNone(future.exception(60))
            load.assert_not_called()
            self.assertEqual(future.result(), "x" * 1_000_000)
            self.assertIs(future.result(), future.result())
            self.assertEqual(load.call_count, 1)

    def test_large_values_travel_over_http_where_the_folder_is_not_seen(self):
        def remote(client, group):
            return _values.Remote(client, group, 1 << 20)

        with unittest.mock.patch.object(_values, "store_for", remote):
            with Executor() as executor:
                data = os.urandom(3_500_000)
                self.assertEqual(executor.submit(calls.same, data).result(60), data)

    def test_large_values_need_a_folder_and_the_error_says_so(self):
        with unittest.mock.patch.object(_values, "store_for", lambda client, group: None), Executor() as executor:
            with self.assertRaisesRegex(ValueError, "has no folder for larger ones"):
                executor.submit(len, os.urandom(9_000_000))

    def test_map_raises_the_first_exception_or_returns_it(self):
        with self.assertRaises(calls.Diverged):
            list(self.executor.map(calls.score, [1, 3], [1, 1]))
        found = list(self.executor.map(calls.score, [1, 3, 2], [1, 1, 1], return_exceptions=True))
        self.assertEqual([type(value) for value in found], [dict, calls.Diverged, dict])

    def test_chunks_share_a_process_and_keep_an_exception_for_each_call(self):
        rates = list(range(1, 8))
        found = list(
            self.executor.map(calls.score, rates, [1] * 7, chunksize=3, return_exceptions=True)
        )
        self.assertEqual([type(value).__name__ for value in found], ["dict"] * 2 + ["Diverged"] + ["dict"] * 4)
        self.assertIn("raise Diverged(rate)", str(found[2].__cause__))

    def test_a_group_that_takes_long_returns_its_other_calls_and_each_call_runs_once(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "runs")
            self.assertEqual(list(self.executor.map(calls.note_run, [path] * 64, [0] * 64)), [0] * 64)
            lengths = [0] * 100 + [0.15] * 12 + [0] * 100
            futures = [self.executor.submit(calls.note_run, path, seconds) for seconds in lengths]
            self.assertEqual([future.result(60) for future in futures], lengths)
            # Several calls are one task.
            self.assertLess(len({future.index for future in futures}), len(lengths))
            with open(path) as file:
                self.assertEqual(len(file.readlines()), 64 + len(lengths))

    def test_a_group_runs_no_further_call_after_its_time(self):
        function = _calls.pickled_function(calls.wait_for)
        store = unittest.mock.Mock(return_value=None, group="0" * 32)
        named = [(str(at), _calls.packed_args(function, (0.01,), {}, store)) for at in range(4)]
        for seconds, count in ((None, 4), (60, 4), (0.001, 2)):
            value, error = _task.run_call(json.loads(_calls.order_of(function, named, store, seconds)))
            self.assertIsNone(error)
            # The first call of all includes the imports, and does not count.
            ran = [one for one in value["python"] if "again" not in one]
            self.assertIn(len(ran), {count, count - 1} if seconds == 0.001 else {count})
            self.assertGreaterEqual(value["seconds"], 0.01)
            self.assertEqual(value["python"][len(ran) :], [{"again": True, "grouped": True}] * (4 - len(ran)))

    def test_numerical_libraries_use_as_many_threads_as_a_call_demands_cpus(self):
        self.assertEqual(self.executor.submit(os.getenv, "OMP_NUM_THREADS").result(60), "1")
        with Executor(env={"OMP_NUM_THREADS": "3"}) as executor:
            self.assertEqual(executor.submit(os.getenv, "OMP_NUM_THREADS").result(60), "3")
        self.assertEqual(Executor(demand={"cpu": 2})._task["env"]["OPENBLAS_NUM_THREADS"], "2")

    def test_cancel_ends_a_call_that_runs(self):
        slow, quick = self.executor.submit(calls.wait_for, 3_600), self.executor.submit(calls.square, 2)
        self.assertEqual(quick.result(60), 4)
        self.assertTrue(slow.cancel())
        self.assertTrue(slow.cancelled())
        with self.assertRaises(CancelledError):
            slow.result(60)
        self.assertFalse(quick.cancel())

    def test_shutdown_cancels_what_is_left_and_takes_no_more(self):
        # A call that runs already cannot be cancelled, as in concurrent.futures.
        futures = [self.executor.submit(calls.wait_for, 2) for _ in range(12)]
        self.executor.shutdown(cancel_futures=True)
        self.assertTrue(futures[-1].cancelled())
        self.assertTrue(all(future.done() for future in futures))
        with self.assertRaisesRegex(RuntimeError, "after shutdown"):
            self.executor.submit(calls.square, 1)

    def test_retries_run_the_call_again(self):
        with tempfile.TemporaryDirectory() as folder, Executor(retries=1) as executor:
            self.assertEqual(executor.submit(calls.fail_first, folder).result(60), 2)

    def test_functions_of_the_main_script_run_on_workers(self):
        script = os.path.join(HERE, "script.py")
        printed = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
        self.assertEqual(printed.stdout, "[2, 4, 6]\nTrue True\n")

    def test_functions_of_a_module_that_python_m_runs_work_on_workers(self):
        printed = subprocess.run([sys.executable, "-m", "tool"], cwd=HERE, capture_output=True, text=True, check=True)
        self.assertEqual(printed.stdout, "[3, 6, 9]\n")

    def test_a_program_that_ends_waits_for_its_calls(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "made")
            subprocess.run([sys.executable, os.path.join(HERE, "unclosed.py"), path], check=True)
            self.assertTrue(os.path.exists(path))

    def test_a_script_without_a_guard_runs_once(self):
        script = os.path.join(HERE, "unguarded.py")
        printed = subprocess.run([sys.executable, script], capture_output=True, text=True)
        self.assertEqual((printed.stdout, printed.returncode), ("2\n", 0), printed.stderr)

    def test_a_script_that_submits_when_it_is_loaded_is_refused_without_cloudpickle(self):
        printed = self.run_without_cloudpickle(os.path.join(HERE, "unguarded.py"))
        self.assertIn("unguarded.py submits work when a worker loads it", printed.stderr)
        self.assertEqual(printed.returncode, 1)

    def test_the_script_is_loaded_without_cloudpickle_and_its_classes_are_its_own(self):
        printed = self.run_without_cloudpickle(os.path.join(HERE, "script.py"))
        self.assertEqual(printed.stdout, "[2, 4, 6]\nTrue True\n", printed.stderr)

    def test_what_cannot_be_imported_is_refused_at_once_without_cloudpickle(self):
        code = "import goshawk\ndef f(): pass\ngoshawk.Executor().submit(f)"
        printed = self.run_without_cloudpickle("-c", code)
        self.assertIn("__main__.f is defined at a prompt or in a notebook", printed.stderr)
        code = "import goshawk\ngoshawk.Executor().submit(lambda: 1)"
        printed = self.run_without_cloudpickle("-c", code)
        self.assertIn("install cloudpickle", printed.stderr)

    def run_without_cloudpickle(self, *args):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "cloudpickle.py"), "w") as file:
                file.write("raise ImportError('hidden by a test')")
            path = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])
            env = {**os.environ, "PYTHONPATH": path}
            return subprocess.run([sys.executable, *args], env=env, cwd=HERE, capture_output=True, text=True, timeout=60)

    @unittest.skipUnless(has_cloudpickle, "cloudpickle is not installed")
    def test_functions_of_prompts_and_lambdas_run(self):
        offset = 3
        self.assertEqual(self.executor.submit(lambda number: number + offset, 4).result(60), 7)
        code = "import goshawk\ndef sq(n): return n * n\nwith goshawk.Executor() as e: print(list(e.map(sq, range(3))))"
        for given in (["-c", code], ["-"]):
            printed = subprocess.run([sys.executable, *given], input=code, capture_output=True, text=True, timeout=60)
            self.assertEqual(printed.stdout, "[0, 1, 4]\n", printed.stderr)
