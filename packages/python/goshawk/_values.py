"""Large values: files named by the SHA-256 of their content, in a folder that workers, gateway and, where possible, the client share."""

from __future__ import annotations

import ctypes
import hashlib
import io
import json
import mmap
import os
import pickle
import socket
import struct
import sys
import tempfile
import threading
import time
import uuid
import weakref
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from . import _codec

#: Buffers of this size, and pickles of that size, are files.
BUFFER_BYTES_MIN = 64 * 1024
PICKLE_BYTES_MAX = 180_000
#: A call does not run while the disk of the folder has less space.
FREE_BYTES_MIN = 64 * 1024 * 1024
#: A process that does not see the folder asks for its free space at most this often.
CHECK_SECONDS = 1.0
_BLOCK = 1 << 20
_LENGTH = struct.Struct("<I")


class Folder:
    """The files of one group of calls."""

    def __init__(self, root: str, group: str):
        self._root = root
        self.path = os.path.join(root, group)

    def begin(self) -> None:
        """Raises before a call if the disk has no space for its result."""
        stats = os.statvfs(self._root)
        free = stats.f_bavail * stats.f_frsize
        if free < FREE_BYTES_MIN:
            raise OSError(f"the disk of {self._root}, for large values, has {free} bytes left: delete files there")

    def add(self, content: memoryview) -> str:
        """Writes a file, unless it exists. Returns its name."""
        name = hashlib.sha256(content).hexdigest()
        if not os.path.exists(os.path.join(self.path, name)):
            self._write(name, content)
        return name

    def new_file(self) -> Any:
        """Returns a file for content that is not known yet; `adopt` names it."""
        os.makedirs(self.path, mode=0o700, exist_ok=True)
        return open(os.path.join(self.path, f"{uuid.uuid4().hex}.new"), "w+b")

    def adopt(self, file: Any) -> str:
        file.flush()
        file.seek(0)
        digest = hashlib.sha256()
        for block in iter(lambda: file.read(_BLOCK), b""):
            digest.update(block)
        file.close()
        os.replace(file.name, os.path.join(self.path, digest.hexdigest()))
        return digest.hexdigest()

    def load(self, name: str) -> Any:
        """Returns the content. Changes of it in memory do not reach the file, and unused parts take no memory."""
        with open(os.path.join(self.path, name), "rb") as file:
            return _mapped(file)

    def note_job(self, job: str) -> None:
        os.makedirs(self.path, mode=0o700, exist_ok=True)
        with open(os.path.join(self.path, "jobs"), "a", encoding="utf-8") as file:
            file.write(f"{job}\n")

    def _write(self, name: str, content: memoryview) -> None:
        os.makedirs(self.path, mode=0o700, exist_ok=True)
        stats = os.statvfs(self.path)
        free = stats.f_bavail * stats.f_frsize
        if content.nbytes > free:
            raise OSError(f"a value takes {content.nbytes} bytes, and the disk of {self._root} has {free} left")
        path = os.path.join(self.path, f"{name}.{uuid.uuid4().hex}.new")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
        os.replace(path, os.path.join(self.path, name))


class Remote:
    """The same over HTTP, for a client that does not see the folder."""

    def __init__(self, client: Any, group: str, part_bytes: int):
        self._client = client
        self._path = f"/v1/values/{group}"
        self._part_bytes = part_bytes
        self._sent: set = set()

    def add(self, content: memoryview) -> str:
        name = hashlib.sha256(content).hexdigest()
        if name in self._sent:
            return name
        size, at = content.nbytes, 0
        while True:
            part = content[at : at + self._part_bytes]
            answer = self._client.send_bytes(f"{self._path}/{name}", part, {"at": at, "size": size})
            at += part.nbytes
            if answer["complete"]:
                break
        self._sent.add(name)
        return name

    def new_file(self) -> Any:
        return tempfile.TemporaryFile()

    def adopt(self, file: Any) -> str:
        return _adopted(file, self.add)

    def load(self, name: str) -> Any:
        with tempfile.TemporaryFile() as file:
            at = 0
            while True:
                part = self._client.read_bytes(f"{self._path}/{name}", {"at": at})
                file.write(part)
                at += len(part)
                if len(part) < self._part_bytes:
                    break
            return _mapped(file)

    def note_job(self, job: str) -> None:
        self._client.request("POST", self._path, {"job": job})


class Channel:
    """A connection to the worker, which reads and writes files that this process does not see."""

    def __init__(self, path: str):
        self._path = path
        self._socket: Optional[socket.socket] = None
        #: Content of files, by name, for the calls after this one.
        self._files: Dict[str, Any] = {}
        self._used: Dict[str, Any] = {}
        self._checked = 0.0

    def begin(self) -> None:
        # A file that consecutive calls share is read once.
        for name in set(self._files) - set(self._used):
            self._files.pop(name).close()
        self._used = {}
        if time.monotonic() - self._checked < CHECK_SECONDS:
            return
        free = self._ask({"op": "space"})["free"]
        if free <= 0:
            raise OSError("the worker's disk for large values is full: delete files there")
        self._checked = time.monotonic()

    def read(self, group: str, name: str) -> Any:
        file = self._files.get(name)
        if file is None:
            size = self._ask({"op": "read", "group": group, "name": name})["bytes"]
            file = _memory_file()
            left = size
            while left > 0:
                part = self._receive(min(left, _BLOCK))
                file.write(part)
                left -= len(part)
            self._files[name] = file
        self._used[name] = file
        return _mapped(file)

    def write(self, group: str, content: memoryview) -> str:
        return self._ask({"op": "write", "group": group, "bytes": content.nbytes}, content)["name"]

    def _ask(self, request: Mapping[str, Any], content: Optional[memoryview] = None) -> Dict[str, Any]:
        body = json.dumps(request).encode()
        for attempt in (1, 2):
            if self._socket is None:
                self._socket = socket.socket(socket.AF_UNIX)
                self._socket.connect(self._path)
            try:
                self._socket.sendall(_LENGTH.pack(len(body)) + body)
                if content is not None:
                    self._socket.sendall(content)
                answer = json.loads(self._exactly(_LENGTH.unpack(self._exactly(_LENGTH.size))[0]))
                break
            except OSError:
                # An earlier call has closed it.
                self._close()
                if attempt == 2:
                    raise
        if "error" in answer:
            raise OSError(answer["error"])
        return answer

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            data += self._receive(count - len(data))
        return data

    def _receive(self, most: int) -> bytes:
        assert self._socket is not None
        part = self._socket.recv(most)
        if not part:
            self._close()
            raise ConnectionResetError("the worker has closed the connection for large values")
        return part

    def _close(self) -> None:
        if self._socket is not None:
            try:
                self._socket.close()
            except OSError:
                pass
        self._socket = None


class Served:
    """The files of a group, through the worker."""

    def __init__(self, channel: Channel, group: str):
        self._channel = channel
        self._group = group

    def begin(self) -> None:
        self._channel.begin()

    def add(self, content: memoryview) -> str:
        return self._channel.write(self._group, content.cast("B"))

    def new_file(self) -> Any:
        return tempfile.TemporaryFile()

    def adopt(self, file: Any) -> str:
        return _adopted(file, self.add)

    def load(self, name: str) -> Any:
        return self._channel.read(self._group, name)


def _mapped(file: Any) -> memoryview:
    """Maps a file copy-on-write. Unlike `mmap`, it keeps no descriptor: a program may hold thousands of results."""
    file.flush()
    size = os.fstat(file.fileno()).st_size
    if _libc is None or size == 0:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) if size > 0 else bytearray())
    address = _libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE, file.fileno(), 0)
    if address in (None, ctypes.c_void_p(-1).value):
        number = ctypes.get_errno()
        raise OSError(number, f"cannot map a value of {size} bytes: {os.strerror(number)}")
    content = (ctypes.c_ubyte * size).from_address(address)
    weakref.finalize(content, _libc.munmap, address, size).atexit = False
    return memoryview(content).cast("B")


class _Reader(io.RawIOBase):
    """Reads mapped content. What has been read takes no memory, so that a value and its pickle are not in memory at once."""

    def __init__(self, content: memoryview):
        self._content = content
        self._at = 0

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        view = memoryview(target).cast("B")
        count = min(view.nbytes, self._content.nbytes - self._at)
        for at in range(0, count, _BLOCK):
            size = min(_BLOCK, count - at)
            view[at : at + size] = self._content[self._at + at : self._at + at + size]
            self._forget(self._at + at + size)
        self._at += count
        return count

    def _forget(self, end: int) -> None:
        # Whole pages, of which the start of the content begins one.
        length = end // mmap.PAGESIZE * mmap.PAGESIZE
        start = max(0, end - 2 * _BLOCK) // mmap.PAGESIZE * mmap.PAGESIZE
        if _libc is not None and length > start and end >= _BLOCK and sys.platform == "linux":
            address = ctypes.addressof(ctypes.c_ubyte.from_buffer(self._content))
            _libc.madvise(address + start, length - start, mmap.MADV_DONTNEED)


def _memory_functions() -> Any:
    """Returns the C library with mmap and munmap; None if it has none."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
        libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        return libc
    except (AttributeError, OSError, TypeError):  # pragma: no cover
        return None


_libc = _memory_functions()


def _memory_file() -> Any:
    """Returns a file in memory: the disk of a sandbox is small."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("goshawk-value"), "w+b")
    return tempfile.TemporaryFile()


def _adopted(file: Any, add: Callable[[memoryview], str]) -> str:
    file.flush()
    with file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        view = memoryview(content)
        try:
            return add(view)
        finally:
            view.release()


def store_for(client: Any, group: str) -> Any:
    """Returns the files of a group as the client reaches them; None if the cluster has no folder for values."""
    from .errors import NotFound

    try:
        about = client.request("GET", "/v1/values")
    except NotFound:
        return None
    root = about["folder"]
    if root is None:
        return None
    try:
        with open(os.path.join(root, "identity"), encoding="ascii") as file:
            is_here = file.read() == about["identity"] and os.access(root, os.W_OK | os.X_OK)
    except OSError:
        is_here = False
    return Folder(root, group) if is_here else Remote(client, group, about["partBytesMax"])


class _Spool(io.RawIOBase):
    """Keeps a pickle in memory up to a size, and then in a file."""

    def __init__(self, store: Any):
        self._store = store
        self._parts: List[bytes] = []
        self._bytes = 0
        self.file: Any = None

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        length = memoryview(data).nbytes
        self._bytes += length
        if self.file is None and self._bytes > PICKLE_BYTES_MAX and self._store is not None:
            self.file = self._store.new_file()
            for part in self._parts:
                self.file.write(part)
            self._parts = []
        if self.file is None:
            self._parts.append(bytes(data))
        else:
            self.file.write(data)
        return length

    def discard(self) -> None:
        if self.file is not None:
            self.file.close()
            if isinstance(self.file.name, str) and os.path.exists(self.file.name):
                os.unlink(self.file.name)

    def content(self) -> bytes:
        return b"".join(self._parts)

    def names_main(self) -> bool:
        """Returns whether the pickle refers to `__main__`, which other processes do not have."""
        if self.file is None:
            data = self.content()
            return b"__main__" in data or b"__mp_main__" in data
        self.file.flush()
        self.file.seek(0)
        tail = b""
        found = False
        for block in iter(lambda: self.file.read(_BLOCK), b""):
            data = tail + block
            found = found or b"__main__" in data or b"__mp_main__" in data
            tail = data[-16:]
        return found


def pack(value: Any, get_store: Callable[[], Any]) -> Dict[str, Any]:
    """Pickles a value. Large buffers and pickles become files of the store, if there is one."""
    store = get_store()
    buffers: List[pickle.PickleBuffer] = []

    def is_inline(buffer: pickle.PickleBuffer) -> bool:
        try:
            is_large = store is not None and buffer.raw().nbytes >= BUFFER_BYTES_MIN
        except BufferError:
            # Memory that is not contiguous.
            return True
        if is_large:
            buffers.append(buffer)
        return not is_large

    spool = _Spool(store)
    try:
        try:
            pickle.Pickler(spool, _codec.PROTOCOL, buffer_callback=is_inline).dump(value)  # type: ignore[arg-type]
            by_value = _codec.cloudpickle is not None and spool.names_main()
        except (pickle.PicklingError, AttributeError, TypeError):
            if _codec.cloudpickle is None:
                raise
            by_value = True
        if by_value:
            spool.discard()
            spool = _Spool(store)
            buffers.clear()
            _codec.ByValue(spool, _codec.PROTOCOL, buffer_callback=is_inline).dump(value)
        packed: Dict[str, Any] = {}
        if spool.file is None:
            packed["pickle"] = _codec.text_of(spool.content())
        else:
            packed["file"] = store.adopt(spool.file)
        if buffers:
            packed["buffers"] = [store.add(buffer.raw()) for buffer in buffers]
        return packed
    except BaseException:
        spool.discard()
        raise
    finally:
        for buffer in buffers:
            buffer.release()


def parts_of(packed: Mapping[str, Any]) -> List[bytes]:
    """Returns what the MAC of a value covers: the pickle, or the digests of files."""
    first = _codec.bytes_of(packed["pickle"]) if "pickle" in packed else f"file {packed['file']}".encode()
    return [first, *(name.encode() for name in packed.get("buffers", ()))]


def unpack(packed: Mapping[str, Any], store: Any) -> Any:
    """Unpickles a value. The content of a pickle in a file must match its name."""
    return opened(packed, store)()


def opened(packed: Mapping[str, Any], store: Any) -> Callable[[], Any]:
    """Opens the files of a value, which then may be deleted. Returns a function that unpickles it, once."""
    if store is None and ("file" in packed or "buffers" in packed):
        raise OSError("the value is a file, and this process cannot reach the folder for values")
    buffers = [store.load(name) for name in packed.get("buffers", ())]
    if "file" not in packed:
        return lambda: pickle.loads(_codec.bytes_of(packed["pickle"]), buffers=buffers)
    content = store.load(packed["file"])

    def load() -> Any:
        with content:
            digest = hashlib.sha256()
            reader = _Reader(content)
            for block in iter(lambda: reader.read(_BLOCK) or b"", b""):
                digest.update(block)
            if digest.hexdigest() != packed["file"]:
                raise OSError("the file of the value has another content than its name says")
            return pickle.load(io.BufferedReader(_Reader(content), _BLOCK), buffers=buffers)

    return load


class LazyStore:
    """The store of a group, which is asked for when a value needs it."""

    def __init__(self, client: Any, group: str):
        self.group = group
        self._client = client
        self._lock = threading.Lock()
        self._found: Optional[Tuple[Any]] = None
        self._jobs: List[str] = []

    def __call__(self) -> Any:
        with self._lock:
            if self._found is None:
                self._found = (store_for(self._client, self.group),)
            return self._found[0]

    def note_job(self, job: str) -> None:
        store = self()
        if store is not None:
            store.note_job(job)
