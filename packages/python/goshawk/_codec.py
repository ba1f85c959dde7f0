"""Pickles functions, values and exceptions, and authenticates what comes back."""

from __future__ import annotations

import base64
import functools
import hashlib
import hmac
import io
import pickle
import sys
import traceback
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .errors import RemoteError, UntrustedResult

try:
    import cloudpickle  # type: ignore[import]
except ImportError:
    cloudpickle = None  # type: ignore[assignment]

PROTOCOL = 5
#: Maximum size of a pickled exception, and of its traceback as text.
EXCEPTION_BYTES_MAX = 50_000
TRACEBACK_LENGTH_MAX = 20_000
FRAMES_MAX = 1_000
#: Exceptions that are kept of a chain of causes.
CAUSES_MAX = 5

def dumps(value: Any) -> bytes:
    """
    Pickles by reference what can be imported, and by value what is defined in `__main__`, at a prompt, in a notebook or in a function.
    """
    if cloudpickle is None:
        return pickle.dumps(value, PROTOCOL)
    try:
        data = pickle.dumps(value, PROTOCOL)
        if b"__main__" not in data and b"__mp_main__" not in data:
            return data
    except (pickle.PicklingError, AttributeError, TypeError):
        pass
    file = io.BytesIO()
    ByValue(file, PROTOCOL).dump(value)
    return file.getvalue()


if cloudpickle is not None:

    class ByValue(cloudpickle.CloudPickler):
        """Names classes of `__main__`, with their definition for processes that do not have them."""

        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, type) and obj.__module__ in ("__main__", "__mp_main__") and obj.__flags__ & (1 << 9):
                return _class_of_main, (obj.__qualname__, cloudpickle.dumps(obj, PROTOCOL))
            return super().reducer_override(obj)


@functools.lru_cache(maxsize=256)
def _defined(definition: bytes) -> Any:
    return pickle.loads(definition)


def _class_of_main(name: str, definition: bytes) -> Any:
    """Returns the class of the submitting script, so that `isinstance` and `except` work there; elsewhere, the transmitted one."""
    found: Any = sys.modules.get("__main__")
    for part in name.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) else _defined(definition)


def text_of(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def bytes_of(text: str) -> bytes:
    return base64.b64decode(text)


def new_mac(key: str, call: str, parts: List[bytes]) -> str:
    """Authenticates the result of a call: only a holder of the client's key can have made it."""
    mac = hmac.new(bytes.fromhex(key), call.encode(), hashlib.sha256)
    for part in parts:
        mac.update(len(part).to_bytes(8, "little"))
        mac.update(part)
    return mac.hexdigest()


def check_mac(key: str, call: str, parts: List[bytes], given: Any) -> None:
    if not (isinstance(given, str) and hmac.compare_digest(new_mac(key, call, parts), given)):
        raise UntrustedResult(
            "the result was not made with this program's key, so it is not unpickled: another program has written it"
        )


class RemoteTraceback(Exception):
    """Cause of a task's exception: its traceback on the worker."""

    def __init__(self, text: str):
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


def format_trace(error: BaseException) -> str:
    """Formats an exception; of a deep recursion, only the last frames: formatting a million takes minutes."""
    depth, frame = 0, error.__traceback__
    while frame is not None and depth <= FRAMES_MAX:
        depth, frame = depth + 1, frame.tb_next
    limit = None if depth <= FRAMES_MAX else -FRAMES_MAX // 10
    return "".join(traceback.format_exception(type(error), error, error.__traceback__, limit))


def describe_exception(error: BaseException) -> Dict[str, Any]:
    """Serializes an exception with its causes and traceback; a pickle that cannot be loaded again or is too long is omitted."""
    trace = format_trace(error)
    chain: List[Dict[str, Any]] = []
    link = ""
    each: Optional[BaseException] = error
    while each is not None and len(chain) < CAUSES_MAX:
        chain.append({"link": link, **_describe_one(each)})
        link = "cause" if each.__cause__ is not None else "context"
        each = each.__cause__ if each.__cause__ is not None else each.__context__
    while len(chain) > 1 and sum(len(one.get("pickle", "")) for one in chain) > EXCEPTION_BYTES_MAX:
        chain.pop()
    return {"chain": chain, "traceback": trace[-TRACEBACK_LENGTH_MAX:]}


def _describe_one(error: BaseException) -> Dict[str, Any]:
    described = {"kind": type(error).__name__, "message": message_of(error)[:2_000]}
    try:
        pickled = dumps(error)
        if len(pickled) < EXCEPTION_BYTES_MAX and isinstance(pickle.loads(pickled), BaseException):
            described["pickle"] = text_of(pickled)
    except Exception:
        pass
    return described


def message_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return ""


def parts_of_exception(described: Mapping[str, Any]) -> List[bytes]:
    """Returns what the MAC of an exception covers: the pickles."""
    return [bytes_of(one["pickle"]) for one in described["chain"] if "pickle" in one]


def exception_of(described: Mapping[str, Any]) -> BaseException:
    """Rebuilds an exception, whose last cause is the remote traceback."""
    errors: List[Tuple[str, BaseException]] = []
    for one in described["chain"]:
        error: BaseException = RemoteError(one["kind"], one["message"])
        if "pickle" in one:
            try:
                loaded = pickle.loads(bytes_of(one["pickle"]))
                error = loaded if isinstance(loaded, BaseException) else error
            except Exception:
                pass
        errors.append((one["link"], error))
    trace = RemoteTraceback(described["traceback"])
    for (_, error), (link, cause) in zip(errors, errors[1:]):
        if link == "cause":
            error.__cause__ = cause
        else:
            error.__context__ = cause
            error.__cause__ = trace
    last = errors[-1][1]
    if last.__cause__ is None:
        last.__cause__ = trace
    return errors[0][1]
