"""A script that a test runs. It lacks `if __name__ == "__main__":`, so a worker that loads it, without cloudpickle, would submit calls again."""

from goshawk import Executor


def double(number):
    return number * 2


with Executor() as executor:
    print(executor.submit(double, 1).result(60))
