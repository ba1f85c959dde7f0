"""Refuses submissions by a script while a worker loads it: each call would submit further calls without end."""

import os

#: Names the script that this process loads; also seen by processes that the script starts meanwhile.
LOADING_VARIABLE = "GOSHAWK_LOADING_SCRIPT"


def check_not_loading() -> None:
    path = os.environ.get(LOADING_VARIABLE)
    if path is not None:
        raise RuntimeError(
            f"{path} submits work when a worker loads it to run its functions: "
            'put this part of the script under `if __name__ == "__main__":`'
        )
