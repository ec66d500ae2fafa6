"""Functions that engines send to other processes, which import them by name."""

import numpy as np

from versadp.errors import DataError


def moments(item):
    return item.sum(), np.array([len(item), 1.0]), (item.max(),)


def fail_on_three(item):
    if item == 3:
        raise DataError("three", hint="not three")
    return item


def sum_of_rows(folder, column, handle):
    return folder.read_handle(handle, [column])[column].to_numpy().sum()
