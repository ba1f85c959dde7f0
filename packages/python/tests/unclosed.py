"""A script that a test runs. It ends without closing its executor, right after a call."""

import sys

import calls

from goshawk import Executor

if __name__ == "__main__":
    Executor().submit(calls.touch, sys.argv[1])
