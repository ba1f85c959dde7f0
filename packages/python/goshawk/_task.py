"""Runs one pickled call, read from stdin, on a worker."""

from __future__ import annotations

import base64
import json
import os
import pickle
import runpy
import sys
import traceback
import types
from typing import Optional

#: Prefix of the line of stderr with the pickled exception of a call.
EXCEPTION_MARK = "goshawk-exception:"
#: Maximum size of a pickle whose base64 fits into the result of a task.
PICKLE_BYTES_MAX = 190_000
EXIT_FAILED = 1
#: Names the script that this process loads; also seen by processes that the script starts meanwhile.
LOADING_VARIABLE = "GOSHAWK_LOADING_SCRIPT"


def check_not_loading() -> None:
    """Raises if a script submits work while a worker loads it: each call would submit further calls without end."""
    path = os.environ.get(LOADING_VARIABLE)
    if path is not None:
        raise RuntimeError(
            f"{path} submits work when a worker loads it to run its functions: "
            'put this part of the script under `if __name__ == "__main__":`'
        )


def load_main(path: Optional[str], module: Optional[str] = None) -> None:
    """
    Loads the submitter's script, or the module of `python -m`, as a module, like `multiprocessing`, so that functions of
    `__main__` are found.
    """
    main = types.ModuleType("__mp_main__")
    os.environ[LOADING_VARIABLE] = module or str(path)
    try:
        if module is not None:
            loaded = runpy.run_module(module, run_name="__mp_main__", alter_sys=True)
        else:
            loaded = runpy.run_path(str(path), run_name="__mp_main__")
        main.__dict__.update(loaded)
    finally:
        del os.environ[LOADING_VARIABLE]
    sys.modules["__main__"] = sys.modules["__mp_main__"] = main


def dumps_exception(error: BaseException) -> str:
    """Serializes an exception with its traceback; the pickle is omitted if it cannot be loaded again or is too long."""
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    described = {"kind": type(error).__name__, "message": _message(error)[:2_000], "traceback": trace[-20_000:]}
    try:
        pickled = pickle.dumps(error)
        if isinstance(pickle.loads(pickled), BaseException) and len(pickled) < 50_000:
            described["pickle"] = base64.b64encode(pickled).decode()
    except Exception:
        pass
    return base64.b64encode(json.dumps(described).encode()).decode()


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return ""


def main() -> int:
    order = json.loads(sys.stdin.buffer.read())
    result = os.environ["GOSHAWK_RESULT"]
    try:
        sys.path[:0] = [entry for entry in order["path"] if entry not in sys.path]
        if order.get("main") or order.get("mainModule"):
            load_main(order.get("main"), order.get("mainModule"))
        function, args, kwargs = pickle.loads(base64.b64decode(order["call"]))
        value = pickle.dumps(function(*args, **kwargs))
        if len(value) > PICKLE_BYTES_MAX:
            raise ValueError(
                f"the return value takes {len(value)} bytes, more than {PICKLE_BYTES_MAX}: "
                "write it to a file and return the path"
            )
        answer = {"pickle": base64.b64encode(value).decode()}
        code = 0
    except BaseException as error:
        if isinstance(error, SystemExit) and error.code in (None, 0):
            error = RuntimeError("the function called sys.exit()")
        sys.stdout.flush()
        print(EXCEPTION_MARK + dumps_exception(error), file=sys.stderr)
        # The traceback comes last: `goshawk job` shows the last lines of failed tasks.
        traceback.print_exception(type(error), error, error.__traceback__)
        answer = {"error": f"{type(error).__name__}: {_message(error)}"[:2_000]}
        code = EXIT_FAILED
    with open(result, "w", encoding="utf-8") as file:
        json.dump(answer, file)
    return code
