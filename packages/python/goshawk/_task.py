"""Runs one call on a worker, in an interpreter of its own or in one that runs many calls."""

from __future__ import annotations

import collections
import json
import os
import runpy
import sys
import time
import types
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from . import _codec
from ._loading import LOADING_VARIABLE
from ._values import PICKLE_BYTES_MAX, pack, parts_of, unpack

#: Variables that the executor sets: entries of `sys.path`, separated by NUL-free JSON, and the script or module of `__main__`.
PATH_VARIABLE = "GOSHAWK_SYS_PATH"
MAIN_VARIABLE = "GOSHAWK_MAIN"
MAIN_MODULE_VARIABLE = "GOSHAWK_MAIN_MODULE"
#: Maximum size of the pickles that are part of the result of a task; larger ones are files.
INLINE_BYTES_MAX = PICKLE_BYTES_MAX
EXIT_FAILED = 1
#: Functions that an interpreter keeps, by their pickles.
FUNCTIONS_MAX = 64

_functions: "collections.OrderedDict[str, Any]" = collections.OrderedDict()


def prepare() -> None:
    """Sets `sys.path`, and loads the submitter's script where functions are pickled by reference."""
    entries = json.loads(os.environ.pop(PATH_VARIABLE, "[]"))
    sys.path[:0] = [entry for entry in entries if entry not in sys.path]
    main, module = os.environ.pop(MAIN_VARIABLE, None), os.environ.pop(MAIN_MODULE_VARIABLE, None)
    if main is not None or module is not None:
        load_main(main, module)


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


def run_call(order: Mapping[str, Any], store_of: Optional[Callable[[str], Any]] = None) -> Tuple[Any, Optional[str]]:
    """Returns the results of the calls of a task, and the message of an exception that its only call has raised."""
    calls = order["calls"]
    is_warm = order["digest"] in _functions
    begun = time.perf_counter()
    limit = order.get("seconds", float("inf"))
    # The first call of a function includes its imports.
    first = 0.0
    results: List[Dict[str, Any]] = []
    message, size = None, 0
    for call in calls:
        if size > INLINE_BYTES_MAX:
            # The rest does not fit into the result of the task.
            results[-1] = {"again": True}
            results += [{"again": True}] * (len(calls) - len(results))
            break
        if results and time.perf_counter() - begun - first > limit:
            # The calls are longer than the submitter has expected, and other workers may be idle.
            results += [{"again": True, "grouped": True}] * (len(calls) - len(results))
            break
        try:
            _check_version(order)
            store = store_of(order["group"]) if store_of is not None else None
            if store is not None:
                store.begin()
            function = _function(order["function"], order["digest"], store)
            args, kwargs = unpack(call["args"], store)
            results.append(_packed(function(*args, **kwargs), call, store))
            del args, kwargs
        except BaseException as error:
            if len(calls) > 1 and not isinstance(error, Exception):
                # The calls run again, each in its own task.
                raise
            error = _as_failure(error)
            print_exception(error)
            message = f"{type(error).__name__}: {_codec.message_of(error)}"[:2_000]
            results.append(_raised(error, call))
        if len(results) == 1 and not is_warm:
            first = time.perf_counter() - begun
        size += _size_of(results[-1]) if len(calls) > 1 else 0
    if len(calls) > 1 and size > INLINE_BYTES_MAX and "again" not in results[-1]:
        results[-1] = {"again": True}
    value: Dict[str, Any] = {"python": results, "group": order["group"]}
    timed = sum("again" not in one for one in results) - (0 if is_warm else 1)
    if timed > 0:
        value["seconds"] = round((time.perf_counter() - begun - first) / timed, 6)
    return value, message if len(calls) == 1 else None


def _size_of(result: Dict[str, Any]) -> int:
    """Returns about how many bytes a result takes in that of its task, as if it were one pickle."""
    pickled = result.get("pickle")
    return 200 + (len(pickled) if pickled is not None else len(json.dumps(result))) * 3 // 4


def _packed(value: Any, call: Mapping[str, Any], store: Any) -> Dict[str, Any]:
    packed = pack(value, lambda: store)
    if "pickle" in packed and len(packed["pickle"]) * 3 // 4 > INLINE_BYTES_MAX:
        raise ValueError(
            f"the return value takes {len(packed['pickle']) * 3 // 4} bytes, more than {INLINE_BYTES_MAX}, and this worker has no "
            "folder for larger ones (--values): write it to a file and return the path"
        )
    name = call["id"]
    return {"id": name, **packed, "mac": _codec.new_mac(call["key"], name, parts_of(packed))}


def _raised(error: BaseException, call: Mapping[str, Any]) -> Dict[str, Any]:
    described = _codec.describe_exception(error)
    name = call["id"]
    mac = _codec.new_mac(call["key"], f"raised {name}", _codec.parts_of_exception(described))
    return {"id": name, "raised": described, "mac": mac}


def _as_failure(error: BaseException) -> BaseException:
    if isinstance(error, SystemExit) and error.code in (None, 0):
        return RuntimeError("the function called sys.exit()")
    return error


def print_exception(error: BaseException) -> None:
    """Prints the traceback, whose last lines `goshawk job` shows. The function may have closed or replaced stderr."""
    try:
        sys.stdout.flush()
        sys.stderr.write(_codec.format_trace(error))
        sys.stderr.flush()
    except Exception:
        pass


def _function(packed: Mapping[str, Any], digest: str, store: Any) -> Any:
    function = _functions.get(digest)
    if function is None:
        function = unpack(packed, store)
        _functions[digest] = function
        if len(_functions) > FUNCTIONS_MAX:
            _functions.popitem(last=False)
    else:
        _functions.move_to_end(digest)
    return function


def _check_version(order: Mapping[str, Any]) -> None:
    theirs: List[int] = order["python"]
    if order["byValue"] and theirs != list(sys.version_info[:2]):
        raise RuntimeError(
            f"the function was pickled by Python {theirs[0]}.{theirs[1]}, and this worker runs "
            f"{sys.version_info[0]}.{sys.version_info[1]}: pass python=… of the same version to the executor, or "
            "import the function from a module"
        )


def run_once() -> int:
    """Runs the call of stdin, and writes its result to the file of GOSHAWK_RESULT."""
    order = json.loads(sys.stdin.buffer.read())
    path = os.environ["GOSHAWK_RESULT"]
    # Opened first, because the function may change its folder or account.
    with open(path, "w", encoding="utf-8") as file:
        pid = os.getpid()
        try:
            prepare()
            value, error = run_call(order)
        except BaseException as failed:
            print_exception(failed)
            value, error = None, f"{type(failed).__name__}: {_codec.message_of(failed)}"[:2_000]
        if os.getpid() != pid:
            os._exit(0)
        json.dump(value if error is None else {"error": error, "value": value}, file)
    return 0 if error is None else EXIT_FAILED
