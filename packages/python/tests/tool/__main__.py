"""A program that a test runs with `python -m tool`. Its functions run on workers, which import it under its package."""

from goshawk import Executor

from . import FACTOR


def scale(number):
    return number * FACTOR


if __name__ == "__main__":
    with Executor() as executor:
        print(list(executor.map(scale, [1, 2, 3])))
