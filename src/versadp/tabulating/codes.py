"""From released values to codes: which outputs of a column's noise mean the same for the levels of a table.

The indicator of a level is undone on every output of the lattice by a table g (outputs, levels) (`noise/lattice.py`),
and a record enters every cell through one row of it. Of these rows few differ: g jumps at an edge, in one residue of
the window, so that outputs are counted by the code of their row, whatever the number of cells.

**The constants** of residues that are free in g are those of least variance, averaged over residues with the same
jumps: each residue would have constants, and so rows, of its own otherwise. They still add up to nothing, so that g is
as unbiased as before, and its variance is hardly larger (tests/tabulating).

**Soft edges**: on a fine lattice with a window of w points, a sharp edge makes jumps of w in g, and one cell then costs
w times what it costs without noise. An edge is therefore a ramp of b points,

    v(i) = |[i - b/2, i + b/2] ∩ [low, high)| / b,        jumps of w/b,

which counts a value near an edge in parts. What is counted is unbiased for these parts, and differs from the sharp
count by f'(edge) b²/24 for a density f: the ends of a ramp are chosen so that it is below the standard error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import DataError, ParameterError
from versadp.schema import Bounded, Categorical, Dates
from versadp.schema.spacing import LINEAR, from_even
from versadp.tabulating.axes import EXACT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.inputs import Array
    from versadp.noise.lattice import Lattice
    from versadp.tabulating.axes import Axis

COARSE = 128  # lattice points up to which edges are sharp, as those of describe's quantiles are
RAMPS, MANY, FASTER = 64, 100_000, 0.2  # ramps in the bounds at MANY records; they grow so that bias/se stays the same
FEWEST = 50  # records that tell an edge, below which its standard error is not known: chosen
LARGEST = 2**25  # numbers in a table of outputs and levels: 256 MB


@dataclass(frozen=True, eq=False)
class Coding:
    """The codes of one column.

    Attributes
    ----------
    kept : array (codes, levels + 1)
        The indicators of levels, undone; their sum last.
    drawn : array (codes, levels + 1)
        Their means over all outputs; of a publicly missing value, whether missing is the level.
    lattice : Lattice, optional
        None for a public column, whose codes are its levels.
    code : array of int, optional
        Of every output, a publicly missing one last.
    soft : float
        Half the length of a ramp, in units of the column; 0 where edges are sharp.
    """

    kept: Array
    drawn: Array
    lattice: Lattice | None = None
    code: NDArray[np.int32] | None = None
    soft: float = 0.0

    @property
    def size(self) -> int:
        """Number of codes."""
        return len(self.kept)

    def of(self, axis: Axis, values: Array) -> NDArray[np.int64]:
        """Return the codes of released values."""
        if self.lattice is None or self.code is None:
            return axis.place(values)
        places = self.lattice.places(values)
        if places.size and (places.max() >= self.code.size - 1 or places.min() < -1):
            raise DataError(
                f"column {axis.name!r} holds values that its noise never gives",
                hint="undo what was done to the column after release",
            )
        return self.code[places].astype(np.int64)


def public_coding(axis: Axis) -> Coding:
    """Return the coding of a public column: a code for each level, and one for values in none."""
    levels = _with_total(np.append(np.eye(axis.size), np.zeros((1, axis.size)), axis=0))
    return Coding(levels, np.zeros_like(levels))


def lattice_coding(axis: Axis, lattice: Lattice, rows: int, *, sharp: bool) -> Coding:
    """Return the coding of a column whose noise is undone on a lattice.

    Parameters
    ----------
    axis : Axis
    lattice : Lattice
    rows : int
        Number of records, on which the length of ramps depends.
    sharp : bool
        No ramps.
    """
    if (lattice.drawn.size + 1) * axis.size > LARGEST:
        raise ParameterError(f"{axis.name!r} has too many levels for its noise", hint="use fewer bins")
    if sharp and lattice.last >= COARSE and rows < FEWEST * lattice.window:
        raise ParameterError(
            f"sharp edges of {axis.name!r} are told by one record in {lattice.window:,}, and there are {rows:,}",
            hint="leave sharp out: edges are then soft",
        )
    v, soft = on_lattice(axis, lattice, rows, sharp=sharp)
    g = few_rows(lattice, v)
    mean, unknown = lattice.drawn @ g, v[-1:]
    rounded = _rounded(np.append(g, unknown, axis=0))
    # a publicly missing value has a row of its own, which drawn ones share
    rounded = np.append(rounded, np.append(np.zeros(len(g)), 1.0)[:, None], axis=1)
    _, first, code = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
    kept = np.append(g, unknown, axis=0)[first]
    drawn = np.where((first == len(g))[:, None], unknown, mean)
    return Coding(_with_total(kept), _with_total(drawn), lattice, code.reshape(-1).astype(np.int32), soft)


def _with_total(levels: Array) -> Array:
    return np.append(levels, levels.sum(axis=1, keepdims=True), axis=1)


def few_rows(lattice: Lattice, v: Array) -> Array:
    """Return functions undone at every output, (outputs, functions), with few distinct rows."""
    shown, window = lattice.shown, lattice.window
    if window == 1:  # there is nothing to undo but the coin
        return np.append(v[:shown], v[-1:], axis=0) if lattice.unseen else v[:shown].copy()
    starts = np.arange(0, shown, window)
    law = np.add.reduceat(lattice.even[:shown], starts) / np.diff(np.append(starts, shown))
    law = np.append(np.repeat(law, window)[:shown], lattice.even[shown:])
    g = lattice.undone(v, law)  # a law that is even within a turn has the same constants where jumps are the same
    best = lattice.undone(v, lattice.even)
    turns = np.full((starts.size * window, g.shape[1]), np.nan)
    turns[:shown] = _rounded(g)[:shown]
    jumps = np.nan_to_num(turns, nan=np.inf).reshape(starts.size, window, -1).transpose(1, 0, 2).reshape(window, -1)
    _, group = np.unique(jumps, axis=0, return_inverse=True)
    group = group.reshape(-1)
    more = (best - g)[:window]
    mean = np.stack([np.bincount(group, each) for each in more.T], axis=1) / np.bincount(group)[:, None]
    g[:shown] += mean[group][np.arange(shown) % window]
    if lattice.unseen:
        unknown = v[-1]
        g[shown] = (window * unknown - lattice.central @ g[:shown]) / lattice.unseen
    return g


def _rounded(g: Array) -> Array:
    """Return rows that are equal if they differ by rounding alone."""
    return np.asarray(np.round(g / max(1.0, float(np.abs(g).max())), 11) + 0.0)


def on_lattice(axis: Axis, lattice: Lattice, rows: int, *, sharp: bool) -> tuple[Array, float]:
    """Return the share of each lattice point that is in each level, missing last, and half the length of ramps."""
    points, declared = lattice.last + 1, axis.declared
    unknown = np.zeros((1, axis.size))
    unknown[0, -1] = axis.missing
    if isinstance(declared, Categorical) or axis.edges is None:
        return np.append(np.eye(points, axis.size), unknown, axis=0), 0.0
    assert isinstance(declared, Bounded)
    natural = isinstance(declared, Dates) or declared.steps == lattice.last
    place = lattice.among(axis.edges)
    if natural:  # values are lattice points, and a level is closed on the left
        place = np.append(np.ceil(place[:-1] - EXACT), np.floor(place[-1:] + EXACT) + 1)
    else:  # values are rounded to lattice points
        place += 0.5
        place[place <= 0.5 + EXACT] -= 0.5
        place[place >= points - 0.5 - EXACT] += 0.5
    ramp = 1.0 if sharp else _ramp(lattice, place, rows)
    if ramp == 1 and not natural and points < COARSE:
        _refuse_divided(axis, lattice, place)
    cuts = np.where(place <= 0, -np.inf, np.where(place >= points, np.inf, place))
    middle = np.arange(points)[:, None] + 0.5
    share = np.minimum(middle + ramp / 2, cuts[1:]) - np.maximum(middle - ramp / 2, cuts[:-1])
    share = np.clip(share, 0.0, None) / ramp
    share = np.append(share, np.zeros((points, axis.size - share.shape[1])), axis=1)
    half = ramp / 2 * lattice.step * _slopes(axis.edges, lattice).max()
    return np.append(share, unknown, axis=0), 0.0 if ramp == 1 else float(half)


def _slopes(edges: Array, lattice: Lattice) -> Array:
    """Return by how much a column moves at some of its values where the scale of its lattice does, per unit."""
    return np.ones_like(edges) if lattice.spacing == LINEAR else 1 + np.abs(edges)


def _ramp(lattice: Lattice, place: Array, rows: int) -> float:
    """Return the length of ramps in lattice points: no more than a level, and than a window."""
    points = lattice.last + 1
    if points <= COARSE:
        return 1.0
    ramps = RAMPS * max(1.0, rows / MANY) ** FASTER
    wide = np.diff(np.clip(place, 0, points))
    narrowest = float(wide[wide > 0].min(initial=points))
    return float(max(1, min(lattice.window, int(points / ramps), int(narrowest))))


def _refuse_divided(axis: Axis, lattice: Lattice, place: Array) -> None:
    """Raise if an edge lies inside the cell of values that are rounded to one lattice point."""
    assert axis.edges is not None
    inside = (place > 0) & (place < lattice.last + 1)
    off = inside & (np.abs(place - np.rint(place)) > EXACT)
    if not off.any():
        return
    near = from_even(lattice.spacing, lattice.low + lattice.step * (np.rint(place[off]) - 0.5))
    given, better = (", ".join(f"{x:.6g}" for x in each) for each in (axis.edges[off], near))
    raise ParameterError(
        f"edges of {axis.name!r} divide cells of its noise, which tells no values inside a cell apart: {given}",
        hint=f"the nearest edges are {better}",
    )
