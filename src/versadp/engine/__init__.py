"""Two verbs for all heavy work: map over items, and sum over items.

Everything that touches many records, releasing and fitting alike, is written with these two, so that where the work
runs is one word: "local" (all cores of this machine), "serial" (this thread), "threads", "processes", "dask", or an
engine of your own. Results come in the order of the items, and sums are added in that order, so every engine gives the
same bytes.
"""

from versadp.engine.base import Engine, add_up, is_remote, local_engine
from versadp.engine.dask import Dask
from versadp.engine.local import Pool, Serial, cores
from versadp.engine.registry import ENGINES, as_engine, at_work, register

__all__ = [
    "ENGINES",
    "Dask",
    "Engine",
    "Pool",
    "Serial",
    "add_up",
    "as_engine",
    "at_work",
    "cores",
    "is_remote",
    "local_engine",
    "register",
]
