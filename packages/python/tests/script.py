"""A script that a test runs. Its functions run on workers, which do not run its main part."""

from collections import namedtuple

from goshawk import Executor

FACTOR = 2
Point = namedtuple("Point", "x y")


class Odd(Exception):
    pass


def scale(number):
    return number * FACTOR


def point(number):
    if number % 2:
        raise Odd(number)
    return Point(number, number)


if __name__ == "__main__":
    with Executor() as executor:
        print(list(executor.map(scale, [1, 2, 3])))
        good, bad = executor.submit(point, 2), executor.submit(point, 1)
        print(type(good.result(60)) is Point, type(bad.exception(60)) is Odd)
