"""The program that a worker runs: `python -m goshawk._worker`. Python warns if the package imports its program."""

import os
import sys

# A process that multiprocessing starts in a call imports this file under another name.
if __name__ == "__main__":
    if "GOSHAWK_CALLS" in os.environ:
        from ._serving import serve

        serve()
    else:
        from ._task import run_once

        sys.exit(run_once())
