"""Sweeps two parameters into a data frame. A second run with the same key returns what has ended, and runs the rest."""

import sys
from itertools import product

import pandas
from goshawk import Executor


def simulate(rate, depth):
    return {"rate": rate, "depth": depth, "loss": (rate - 0.3) ** 2 + 0.01 * depth}


grid = list(product([0.1, 0.2, 0.3, 0.4], range(1, 6)))
with Executor(name="sweep", key=sys.argv[1] if len(sys.argv) > 1 else None) as executor:
    table = pandas.DataFrame(executor.map(simulate, *zip(*grid)))
print(len(table), "points; the best:", table.loc[table.loss.idxmin()].to_dict())
