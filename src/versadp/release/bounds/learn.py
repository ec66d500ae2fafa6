"""From exact counts and a key to a schema with effective bounds.

The noise is a function of the key, of all that decides about it, and of the counts themselves:

    words = AES-256-CTR under HMAC(HMAC(key, parameters), counts)

so the same counts get the same noise, after a crash and on every engine, whatever the order of the records; and other
counts get other noise, so that no two answers differ by the counts alone.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from versadp.noise.counts import rounded_gaussian, two_sided_geometric, word_stream
from versadp.noise.words import check_key, mac
from versadp.release.bounds.cells import learnable
from versadp.release.bounds.count import by_column
from versadp.release.bounds.estimate import better_column
from versadp.release.bounds.scales import better_spacing
from versadp.schema.learnt import GEOMETRIC

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from versadp.release.bounds.cells import Cells
    from versadp.release.bounds.law import BoundsRequest
    from versadp.schema import Column, Schema
    from versadp.schema.learnt import Clipped, LearntBounds

    Counts = NDArray[np.int64]

_FORMAT = b"versadp bounds 1"


def law_of(schema: Schema, request: BoundsRequest, cells: Mapping[str, Cells]) -> LearntBounds | None:
    """Return the noise with which a schema's bounds are learnt; None if there is nothing to learn."""
    if not cells or request.coverage == 1:
        return None
    levels = {name: len(each.blocks) for name, each in cells.items()}
    return request.law(schema, levels, sum(each.counts for each in cells.values()))


def planned(schema: Schema, request: BoundsRequest, columns: list[str] | None = None) -> Schema:
    """Return the declared schema with what learning its bounds will cost, which depends on no record."""
    declared = schema.as_declared()
    return declared.with_columns({}, law_of(declared, request, learnable(declared, columns)))


def learnt_schema(plan: Schema, counts: Counts, key: bytes, spaceable: Collection[str] | None = None) -> Schema:
    """Return a planned schema with the bounds that the noisy counts show.

    Parameters
    ----------
    plan : Schema
        What `planned` returned.
    counts : array of int64
        Of `count.counted`, for the columns that the plan names.
    key : bytes
        32 secret random bytes.
    spaceable : collection of str, optional
        Numbers whose noise may be even on another scale, if the counts are to decide that; all by default.
    """
    law = plan.bounds
    assert law is not None
    cells = learnable(plan, list(law.levels))
    people, n = by_column(counts[:-1], cells), int(counts[-1])
    noise, start = _noise(plan, law, counts, key), 0
    made: dict[str, Column] = {}
    clipped: dict[str, Clipped] = {}
    for name, each in cells.items():
        exact, column = each.sums(people[name]), plan.columns[name]
        noisy = (exact + noise[start : start + exact.size]).astype(np.float64)
        start += exact.size
        shown = n - int(people[name][-1]) if getattr(column, "nullable", False) == "public" else n
        better = better_column(column, each, noisy, shown, law)
        if better is not None:
            made[name], clipped[name] = better
        if law.spacing and (spaceable is None or name in spaceable):
            made[name] = better_spacing(made.get(name, column), each, noisy, shown)
    return plan.with_columns(made, replace(law, clipped=clipped))


def _noise(plan: Schema, law: LearntBounds, counts: Counts, key: bytes) -> Counts:
    """Return the noise of all counts."""
    text = json.dumps(plan.to_dict(), ensure_ascii=False, sort_keys=True).encode()
    root = mac(check_key(key), _FORMAT, text)
    words = word_stream(mac(root, counts.astype("<i8").tobytes()))
    if law.noise == GEOMETRIC:
        return two_sided_geometric(words, int(law.scale), law.counts)
    return rounded_gaussian(np.fromiter(islice(words, law.counts), np.uint64, law.counts), law.scale)
