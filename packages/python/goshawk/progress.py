"""Progress of tasks: a bar in notebooks, one line on terminals, nothing elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any, Optional, TextIO

SECONDS_BETWEEN = 0.1


class Progress:
    """Shows how many of `total` tasks have ended. Call `update` as they end, and `close` at the end."""

    def __init__(self, total: int, name: str = "", stream: Optional[TextIO] = None):
        self.total = total
        self.name = name
        self.done = 0
        self.failed = 0
        self._stream = stream if stream is not None else sys.stderr
        self._display = _notebook_display()
        self._shown_at = 0.0

    def update(self, done: int, failed: int = 0, total: Optional[int] = None) -> None:
        self.done, self.failed = done, failed
        if total is not None:
            self.total = total
        now = time.monotonic()
        if now - self._shown_at >= SECONDS_BETWEEN or done >= self.total:
            self._shown_at = now
            self._show()

    def close(self) -> None:
        self._show()
        if self._display is None and self._stream.isatty():
            self._stream.write("\n")
            self._stream.flush()

    def text(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        name = f"{self.name} " if self.name else ""
        return f"{name}{self.done} of {self.total} tasks{failed}"

    def _repr_html_(self) -> str:
        from html import escape

        return (
            f'<progress value="{self.done}" max="{max(self.total, 1)}" style="width:20em"></progress> '
            f"{escape(self.text())}"
        )

    def __repr__(self) -> str:
        return self.text()

    def _show(self) -> None:
        if self._display is not None:
            if self._handle is None:
                self._handle = self._display(self, display_id=True)
            else:
                self._handle.update(self)
        elif self._stream.isatty():
            self._stream.write(f"\r\x1b[K{self.text()}")
            self._stream.flush()

    _handle: Any = None


def _notebook_display() -> Any:
    """Returns IPython's `display` in a notebook, where it can redraw; else None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display  # type: ignore[import]

    return display
