"""A script that a test runs. Its functions run on workers, which do not run its main part."""

from goshawk import Executor

FACTOR = 2


def scale(number):
    return number * FACTOR


if __name__ == "__main__":
    with Executor() as executor:
        print(list(executor.map(scale, [1, 2, 3])))
