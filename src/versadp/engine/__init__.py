"""Two verbs for all heavy work: map over batches, and sum over batches.

Everything that touches many records, releasing and fitting alike, is written with these two, so that where the work
runs is one word: "local", "threads" or "processes". Results come in the order of the batches and sums are added in
that order, so every engine gives the same bytes.
"""

from versadp.engine.local import Engine, Local, Pool, as_engine, cores

__all__ = ["Engine", "Local", "Pool", "as_engine", "cores"]
