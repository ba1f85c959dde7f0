"""Calls as tasks: what a worker gets, and what it returns."""

from __future__ import annotations

import functools
import hashlib
import hmac
import json
import os
import pickle
import secrets
import sys
import threading
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple

from . import _codec
from ._task import MAIN_MODULE_VARIABLE, MAIN_VARIABLE, PATH_VARIABLE
from ._values import BUFFER_BYTES_MIN, LazyStore, opened, pack, parts_of, unpack
from .discovery import state_folder, stranger_at
from .errors import TaskFailed

class Function(NamedTuple):
    """A pickled function."""

    data: bytes
    digest: str
    name: str
    by_value: bool


class Later:
    """A value in open files, which is unpickled when the program asks for it: of many results, only those in use are in memory."""

    def __init__(self, load: Callable[[], Any]):
        self._load: Optional[Callable[[], Any]] = load
        self._lock = threading.Lock()
        self._value: Any = None
        self._error: Optional[TaskFailed] = None

    def value(self) -> Any:
        with self._lock:
            if self._load is not None:
                try:
                    self._value = self._load()
                except Exception as error:
                    self._error = _unreadable(error)
                self._load = None
            if self._error is not None:
                raise self._error
            return self._value


class Raised:
    """An exception in place of a value."""

    def __init__(self, error: BaseException):
        self.error = error


def apply(function: Any, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def pickled_function(function: Any) -> Function:
    name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', type(function).__qualname__)}"
    data = _dumps(function, name)
    by_value = _codec.cloudpickle is not None and b"cloudpickle" in data
    return Function(data, hashlib.sha256(data).hexdigest()[:32], name, by_value)


def packed_args(function: Function, args: Tuple[Any, ...], kwargs: Dict[str, Any], store: Any) -> Dict[str, Any]:
    # Most arguments are small, and need no store.
    value = (args, kwargs)
    try:
        data = _codec.dumps(value)
    except Exception as error:
        raise _not_pickled(function.name, error) from error
    if len(data) < BUFFER_BYTES_MIN:
        _check_by_reference(data, function.name)
        return {"pickle": _codec.text_of(data)}
    del data
    return pack(value, store)


def order_of(
    function: Function, calls: Sequence[Tuple[str, Mapping[str, Any]]], store: LazyStore, seconds: Optional[float] = None
) -> str:
    """
    Returns the stdin of a task that runs the function with these names and packed arguments. Calls that have not begun after `seconds`
    are returned.
    """
    packed = {"pickle": _codec.text_of(function.data)}
    if len(function.data) >= BUFFER_BYTES_MIN and store() is not None:
        packed = {"file": store().add(memoryview(function.data))}
    order: Dict[str, Any] = {
        "function": packed,
        "digest": function.digest,
        "calls": [{"id": name, "key": call_key(name), "args": args} for name, args in calls],
        "group": store.group,
        "python": list(sys.version_info[:2]),
        "byValue": function.by_value,
    }
    if seconds is not None:
        order["seconds"] = seconds
    return json.dumps(order)


def identity_of(function: Function, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> str:
    """Returns a text that is the same in each run of a program that makes the same call."""
    try:
        data = pickle.dumps((args, kwargs), 4)
    except Exception:
        # Lambdas and local classes: the position has to do.
        data = b""
    return hashlib.sha256(function.name.encode() + b"\0" + data).hexdigest()[:32]


def variables(cwd: str) -> Dict[str, str]:
    """Returns the variables by which the interpreter of a worker imports what this process imports."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = [os.path.abspath(entry) for entry in sys.path]
    folders = [package, sys.prefix, sys.base_prefix, *path]
    return {
        "PYTHONPATH": package,
        "GOSHAWK_FOLDERS": ":".join(folder for folder in dict.fromkeys(folders) if ":" not in folder),
        PATH_VARIABLE: json.dumps(path),
        **_main_variables(),
    }


def _main_variables() -> Dict[str, str]:
    """Without cloudpickle, workers load the script to find its functions."""
    if _codec.cloudpickle is not None:
        return {}
    main = sys.modules["__main__"]
    path, spec = getattr(main, "__file__", None), getattr(main, "__spec__", None)
    # `python -m NAME`: the module has a package for relative imports. A folder or archive that is run has no name.
    if spec is not None and spec.name != "__main__":
        return {MAIN_MODULE_VARIABLE: spec.name}
    return {} if path is None or not os.path.exists(path) else {MAIN_VARIABLE: os.path.abspath(path)}


def _dumps(value: Any, name: str) -> bytes:
    try:
        data = _codec.dumps(value)
    except Exception as error:
        raise _not_pickled(name, error) from error
    _check_by_reference(data, name)
    return data


def _not_pickled(name: str, error: Exception) -> TypeError:
    hint = "" if _codec.cloudpickle is not None else "; install cloudpickle for functions that no module has, such as lambdas"
    return TypeError(f"the call of {name} cannot be pickled: {error}{hint}")


def _check_by_reference(data: bytes, name: str) -> None:
    if _codec.cloudpickle is None and b"__main__" in data and not _main_variables():
        raise ValueError(
            f"{name} is defined at a prompt or in a notebook, where workers cannot import it: "
            "install cloudpickle, or put it into a module"
        )


@functools.lru_cache(maxsize=None)
def _secret(folder: str, pid: int) -> bytes:
    """Returns this user's secret, from which the keys of all calls derive; one of this process if it cannot be kept."""
    path = os.path.join(folder, "python.key")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if not os.path.exists(path):
            made = f"{path}.{pid}"
            with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                file.write(secrets.token_hex(32))
            try:
                # Of several processes, the first one decides.
                os.link(made, path)
            except FileExistsError:
                pass
            finally:
                os.unlink(made)
        if stranger_at(path) is not None:
            raise OSError("another user may have written it")
        with open(path, encoding="ascii") as file:
            text = file.read().strip()
        if len(text) == 64:
            return bytes.fromhex(text)
    except (OSError, ValueError):
        pass
    return secrets.token_bytes(32)


def call_key(call: str) -> str:
    """Returns the key for the results of a call. A worker that knows it cannot forge results of other calls."""
    return hmac.new(_secret(state_folder(), os.getpid()), call.encode(), hashlib.sha256).hexdigest()


def is_result(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("python"), list)


def group_of(key: str) -> str:
    """Returns the group of the large values of an executor with a key."""
    return call_key(f"group {key}")[:40]


def outcome_of(one: Mapping[str, Any], get_store: Callable[[], Any], call: Optional[str] = None) -> Any:
    """
    Returns the value of a call, `Later` if it is in files, or `Raised` with its exception.

    Raises `UntrustedResult` if it was not made for the call, or not with this user's key.
    """
    name = str(one.get("id")) if call is None else call
    key = call_key(name)
    if "raised" in one:
        _codec.check_mac(key, f"raised {name}", _codec.parts_of_exception(one["raised"]), one.get("mac"))
        return Raised(_codec.exception_of(one["raised"]))
    _codec.check_mac(key, name, parts_of(one), one.get("mac"))
    try:
        if "file" in one or "buffers" in one:
            return Later(opened(one, get_store()))
        return unpack(one, None)
    except Exception as error:
        raise _unreadable(error) from error


def _unreadable(error: Exception) -> TaskFailed:
    failure = TaskFailed(-1, f"the call returned a value that cannot be unpickled here: {type(error).__name__}: {error}", "bad-value")
    failure.__cause__ = error
    return failure
