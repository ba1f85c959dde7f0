import os
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import uuid
from collections import Counter

import calls

import goshawk
from goshawk import Client, Executor, UntrustedResult, _calls

HERE = os.path.dirname(os.path.abspath(__file__))
COUNT = int(os.environ.get("GOSHAWK_RESUMED_CALLS", "300"))


class RecoveryTest(unittest.TestCase):
    def test_calls_of_a_killed_program_run_once_and_the_next_one_gets_all_results(self):
        with tempfile.TemporaryDirectory() as folder:
            argv = [sys.executable, os.path.join(HERE, "resumed.py"), folder, uuid.uuid4().hex, str(COUNT)]
            first = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
            self.assertEqual(first.stdout.readline(), "quarter\n")
            first.send_signal(signal.SIGKILL)
            first.wait()
            first.stdout.close()
            again = subprocess.run(argv, capture_output=True, text=True, timeout=300)
            self.assertEqual(again.stdout, f"quarter\n{COUNT} {sum(n * n for n in range(COUNT))}\n", again.stderr)
            runs = Counter(int(name.partition("-")[0]) for name in os.listdir(folder))
            self.assertEqual(runs, Counter(range(COUNT)))

    def test_other_calls_with_the_same_key_are_refused(self):
        key = uuid.uuid4().hex
        with Executor(key=key) as executor:
            self.assertEqual(list(executor.map(calls.square, range(3))), [0, 1, 4])
        with Executor(key=key) as executor:
            futures = [executor.submit(calls.square, number) for number in (0, 1, 5)]
            with self.assertRaises((goshawk.Conflict, UntrustedResult)):
                futures[2].result(60)

    def test_more_calls_with_the_same_key_run(self):
        key = uuid.uuid4().hex
        for count in (2, 4, 4):
            with Executor(key=key) as executor:
                self.assertEqual(list(executor.map(calls.square, range(count))), [n * n for n in range(count)])

    def test_cancelled_calls_run_again_with_the_key(self):
        key = uuid.uuid4().hex
        with Executor(key=key) as executor:
            futures = [executor.submit(calls.square, 2), executor.submit(calls.wait_for, 0.5)]
            futures[1].cancel()
        with Executor(key=key) as executor:
            again = [executor.submit(calls.square, 2), executor.submit(calls.wait_for, 0.5)]
            self.assertEqual([future.result(60) for future in again], [4, 0.5])

    def test_another_program_of_the_user_reads_the_values_of_a_job(self):
        with Executor() as executor:
            future = executor.submit(calls.same, {"a": 1})
            future.result(60)
            job = future.job.id
        code = f"import goshawk; print(goshawk.Client().job({job!r}).values())"
        printed = subprocess.run([sys.executable, "-c", code], cwd=HERE, capture_output=True, text=True, timeout=60)
        self.assertEqual(printed.stdout, "[{'a': 1}]\n", printed.stderr)

    def test_a_result_that_another_key_has_made_is_not_unpickled(self):
        with Executor() as executor:
            future = executor.submit(calls.same, 1)
            future.result(60)
        job = Client().job(future.job.id)
        with unittest.mock.patch.object(_calls, "call_key", lambda call: "00" * 32):
            (result,) = job.results()
        self.assertIsInstance(result.error.__cause__, UntrustedResult)
        self.assertIsNone(result.value)
