"""The program that a worker runs for one call: `python -m goshawk._worker`. Python warns if the package imports its program."""

import sys

from ._task import main

sys.exit(main())
