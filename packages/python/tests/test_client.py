import io
import json
import os
import socket
import threading
import time
import unittest
import unittest.mock
from http.server import BaseHTTPRequestHandler, HTTPServer

import goshawk
from goshawk import _calls, _lane
from goshawk import Client, JobFailed, NotFound, Progress, TaskCancelled, TaskFailed, WaitTimeout, command


class ClientTest(unittest.TestCase):
    """Tests that use the cluster of GOSHAWK_API."""

    client = Client()

    def test_submits_waits_and_returns_results_by_index(self):
        tasks = [command("sh", "-c", f"exit {code}") for code in (0, 3)]
        results = self.client.submit(tasks=tasks, name="exits").results(timeout=60)
        self.assertEqual([result.state for result in results], ["completed", "failed"])
        self.assertEqual([result.exit_code for result in results], [0, 3])
        with self.assertRaises(TaskFailed) as raised:
            results[1].get()
        self.assertEqual((raised.exception.index, raised.exception.exit_code), (1, 3))

    def test_values_of_commands_are_the_json_that_they_write(self):
        line = 'printf \'{"task": %s}\' $GOSHAWK_TASK > $GOSHAWK_RESULT'
        job = self.client.submit(tasks=[command(line, shell=True, returns=True)] * 3)
        self.assertEqual(job.values(timeout=60), [{"task": index} for index in range(3)])

    def test_values_raise_an_error_that_has_all_results(self):
        job = self.client.submit(tasks=[command("true"), command("false")])
        with self.assertRaises(JobFailed) as raised:
            job.values(timeout=60)
        self.assertEqual([r.state for r in raised.exception.results], ["completed", "failed"])

    def test_the_same_key_is_the_same_job(self):
        ids = [self.client.submit(tasks=[{"sleep": 1}], key="python-once").id for _ in range(2)]
        self.assertEqual(ids[0], ids[1])
        with self.assertRaises(goshawk.Conflict):
            self.client.submit(tasks=[{"sleep": 2}], key="python-once")

    def test_commands_run_in_the_folder_of_the_submission_and_print_to_logs(self):
        job = self.client.submit(tasks=[command("pwd")])
        job.wait(60)
        self.assertEqual(job.logs()[0]["text"].strip(), os.path.realpath(os.getcwd()))

    def test_wait_gives_up_and_cancel_ends_the_job(self):
        job = self.client.submit(tasks=[{"sleep": "1h"}])
        with self.assertRaises(WaitTimeout):
            job.wait(timeout=0.1)
        job.cancel()
        (result,) = job.results(timeout=60)
        self.assertIsInstance(result.error, TaskCancelled)

    def test_retry_runs_the_failed_tasks_of_the_same_job(self):
        flag = os.path.join(os.environ["GOSHAWK_TEST_FOLDER"], "fixed")
        job = self.client.submit(tasks=[command("test", "-e", flag), command("true")])
        self.assertEqual(job.wait(60)["state"], "failed")
        open(flag, "w").close()
        self.assertEqual(job.retry().wait(60)["state"], "completed")
        self.assertEqual([result.attempt for result in job.results()], [2, 1])

    def test_retry_runs_the_failed_tasks_of_a_stage(self):
        tasks = [command("false")]
        job = self.client.submit(stages=[{"name": name, "tasks": tasks} for name in ("left", "right")], retries=0)
        job.wait(60)
        self.assertEqual(job.retry(stage="right").wait(60)["state"], "failed")
        self.assertEqual([result.attempt for result in job.results()], [1, 2])

    def test_retry_as_a_new_job_keeps_the_numbers_of_the_tasks(self):
        flag = os.path.join(os.environ["GOSHAWK_TEST_FOLDER"], "fixed as new")
        tasks = [command("true"), command("test", "-e", flag)]
        job = self.client.submit(tasks=tasks)
        self.assertEqual(job.wait(60)["state"], "failed")
        open(flag, "w").close()
        again = job.retry(as_new=True)
        self.assertEqual(again.wait(60)["retryOf"], job.id)
        self.assertEqual([(result.index, result.attempt) for result in again.results()], [(1, 1)])
        self.assertEqual(job.describe()["state"], "failed")

    def test_events_end_with_the_job(self):
        job = self.client.submit(tasks=[{"sleep": 50}])
        events = list(job.events())
        self.assertEqual((events[-1]["event"], events[-1]["state"]), ("ended", "completed"))

    def test_as_completed_yields_each_result_once(self):
        job = self.client.submit(tasks=[{"sleep": 400}, {"sleep": 1}])
        self.assertEqual(sorted(result.index for result in job.as_completed()), [0, 1])

    def test_lists_jobs_and_workers(self):
        job = self.client.submit(tasks=[{"sleep": 1}], name="listed")
        job.wait(60)
        self.assertIn(job.id, [each["id"] for each in self.client.jobs(all=True)])
        self.assertTrue(self.client.workers())

    def test_errors_are_typed_and_say_what_to_do(self):
        with self.assertRaises(NotFound):
            self.client.job("nobody-1").describe()
        with self.assertRaises(goshawk.InvalidRequest) as raised:
            self.client.submit(tasks=[{"sleeep": 1}])
        self.assertIn("sleeep", str(raised.exception))
        self.assertEqual(raised.exception.status, 400)

    def test_nobody_there_is_an_error_once_the_time_for_retries_has_passed(self):
        with self.assertRaises(goshawk.Unreachable):
            Client("http://127.0.0.1:1", retry_for=0.3).jobs()


class InputTest(unittest.TestCase):
    """Tests of input that is refused before anything is sent."""

    def refuses(self, pattern, act):
        with self.assertRaisesRegex(goshawk.InvalidRequest, pattern):
            act()

    def test_addresses_that_are_not_of_a_gateway(self):
        for url in ("127.0.0.1:7080", "file:///etc/hosts", "http://", "http://h:99999", "http://h/ ", "http://h/\ud800"):
            self.refuses("is not the address of a gateway; use http://HOST:PORT", lambda url=url: Client(url))
        self.refuses("pass the token as GOSHAWK_TOKEN", lambda: Client("http://127.0.0.1:1/#token=abc"))

    def test_tokens_that_no_header_can_contain(self):
        for token in ("a\nb", "a b", "\ud800"):
            self.refuses("^the token has characters", lambda token=token: Client(token=token))

    def test_times_that_are_not_numbers_of_seconds(self):
        for value in (float("nan"), float("inf"), 0, -1, "5", True):
            self.refuses("^timeout: ", lambda value=value: Client(timeout=value))
        for value in (float("nan"), -1, "5"):
            self.refuses("^retry_for: ", lambda value=value: Client(retry_for=value))
        for value in (float("nan"), "5", True):
            self.refuses("^timeout: ", lambda value=value: Client("http://127.0.0.1:1").job("a-1").wait(value))

    def test_values_that_are_not_json_are_named(self):
        client = Client("http://127.0.0.1:1", retry_for=0)
        self.refuses(r"tasks\[1\]\.sleep: ", lambda: client.submit(tasks=[{"sleep": 1}, {"sleep": float("nan")}]))
        self.refuses("^name: ", lambda: client.submit(tasks=[{"sleep": 1}], name=b"bytes"))
        self.refuses("^tasks: ", lambda: client.submit(tasks=({"sleep": 1} for _ in range(2))))

    def test_text_that_no_address_can_contain(self):
        client = Client("http://127.0.0.1:1", retry_for=0)
        self.refuses("is not the id of a job", lambda: client.job("\ud800"))
        self.refuses("^user: ", lambda: client.jobs(user="\ud800"))


class RetryTest(unittest.TestCase):
    """Tests that use a server that fails on request."""

    def serve(self, answers):
        asked = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                self.answer()

            def do_GET(self):
                asked.append(self.path)
                self.answer()

            def answer(self):
                status, body = answers.pop(0)
                if status == 0:
                    self.connection.close()
                    return
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("location", body)
                if isinstance(body, bytes):
                    self.send_header("content-length", "1000")
                self.end_headers()
                self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

            def log_message(self, *_):
                pass

        server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return Client(f"http://127.0.0.1:{server.server_port}", retry_for=30), asked

    def test_a_submission_is_repeated_with_its_key(self):
        away = {"schema": "goshawk.error/1", "code": "unreachable", "message": "away", "hint": ""}
        client, asked = self.serve([(503, away), (0, None), (200, {"job": "a-1"})])
        self.assertEqual(client.submit(tasks=[{"sleep": 1}]).id, "a-1")
        self.assertEqual(len(asked), 3)
        self.assertEqual(len({body["key"] for body in asked}), 1)

    def test_an_answer_that_breaks_off_is_asked_for_again(self):
        client, asked = self.serve([(200, b'{"jobs": ['), (200, {"jobs": []})])
        self.assertEqual(client.jobs(), [])
        self.assertEqual(len(asked), 2)

    def test_another_server_is_reported_at_once(self):
        client, asked = self.serve([(200, b"<!doctype html>" + b" " * 985)])
        with self.assertRaisesRegex(goshawk.GoshawkError, "is not a gateway"):
            client.jobs()
        self.assertEqual(len(asked), 1)

    def test_a_stream_that_the_token_does_not_allow_ends_at_once(self):
        client, asked = self.serve([(403, {"code": "not-allowed", "message": "no", "hint": ""})])
        with self.assertRaises(goshawk.Denied):
            list(client.stream("/v1/jobs/a-1/events"))
        self.assertEqual(len(asked), 1)

    def test_a_redirect_is_reported_and_neither_followed_nor_given_the_token(self):
        other, asked_there = self.serve([(200, {"jobs": []})])
        client, asked = self.serve([(status, f"{other.url}/base/v1/jobs") for status in (301, 302, 303, 307, 308)])
        for _ in range(5):
            with self.assertRaises(goshawk.InvalidRequest) as raised:
                client.submit(tasks=[{"sleep": 1}])
            self.assertIn(f"use the address {other.url}/base", str(raised.exception))
        self.assertEqual((len(asked), asked_there), (5, []))

    def test_a_stream_without_events_survives_several_lost_connections(self):
        beat = (200, b": still here\n\n")
        client, asked = self.serve([beat, beat, beat, (200, b"event: ended\ndata: {}\n\n")])
        client.retry_for = 0.05
        self.assertEqual(list(client.stream("/v1/jobs/a-1/results")), [("ended", {})])
        self.assertEqual(len(asked), 4)

    def test_a_refusal_is_not_repeated(self):
        client, asked = self.serve([(400, {"code": "bad-job", "message": "no tasks", "hint": ""})])
        with self.assertRaises(goshawk.InvalidRequest):
            client.submit(tasks=[])
        self.assertEqual(len(asked), 1)


class ProgressTest(unittest.TestCase):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def test_redraws_a_line_on_a_terminal_and_is_silent_elsewhere(self):
        terminal, pipe = self.Terminal(), io.StringIO()
        for stream in (terminal, pipe):
            progress = Progress(4, "grid", stream)
            progress.update(4, 1)
            progress.close()
        self.assertIn("grid 4 of 4 tasks, 1 failed", terminal.getvalue())
        self.assertEqual(pipe.getvalue(), "")

    def test_is_a_bar_in_notebooks_without_markup_of_names(self):
        progress = Progress(4, "<b>")
        progress.done = 2
        self.assertIn('<progress value="2" max="4"', progress._repr_html_())
        self.assertIn("&lt;b&gt; 2 of 4 tasks", progress._repr_html_())


class LaneTest(unittest.TestCase):
    """Tests of calls with a server that answers as the test says."""

    serve = RetryTest.serve

    def lane(self, answers):
        client, asked = self.serve(answers)
        client.retry_for = 0.0
        lane = _lane.Lane(None, client, {"name": "x"}, {"exec": ["x"], "warm": True}, None)
        lane._store.note_job = lambda job: None
        return lane, asked

    def test_a_submission_that_fails_fails_its_calls_and_the_next_ones_are_submitted(self):
        refusal = {"code": "over-limit", "message": "too many jobs", "hint": ""}
        lane, asked = self.lane([(403, refusal)] * 3)
        function = _calls.pickled_function(abs)
        for count in (1, 2, 3):
            call = lane.call(function, (1,), {})
            lane.put(function, [call])
            self.assertIsInstance(call.future.exception(20), goshawk.Denied)
            self.assertEqual(len(asked), count)

    def test_a_cancel_that_fails_raises_here_and_the_submitter_lives(self):
        job = {"job": "a-1", "state": "running"}
        appended = {"tasks": 1, "digest": "", "closed": False, "state": "running"}
        lane, _ = self.lane([(200, job), (200, appended), (404, {"code": "unknown-job", "message": "gone", "hint": ""})])
        with unittest.mock.patch.object(_lane._Segment, "_follow", lambda segment: None):
            function = _calls.pickled_function(abs)
            call = lane.call(function, (1,), {})
            lane.put(function, [call])
            while call.future.job is None or not lane._segments[0].tasks:
                threading.Event().wait(0.01)
            lane._segments[0].job.client.request = self.refuse
            with self.assertRaises(NotFound):
                call.future.cancel()
            self.assertTrue(lane._sender.is_alive())

    @staticmethod
    def refuse(*_, **__):
        raise NotFound("gone", "unknown-job")


class WaitTest(unittest.TestCase):
    def test_wait_keeps_its_timeout_while_the_gateway_is_away(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{free.getsockname()[1]}"
        begun = time.monotonic()
        with self.assertRaises(WaitTimeout):
            Client(url, retry_for=60).job("a-1").wait(timeout=0.5)
        self.assertLess(time.monotonic() - begun, 10)
