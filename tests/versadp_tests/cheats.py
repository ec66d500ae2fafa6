"""Ways to break a promise that a claim about the worst pair of records need not notice: planted into the release path.

Each is a mechanism and a path that releases a table with it, wrongly; the code of versadp is wrapped or replaced while
the path runs, and only then, so that an audit sees the cheat and is not touched by it.
"""

from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import versadp as vdp
from versadp.noise import ZeroInflatedBlock
from versadp.noise.mac import Texts
from versadp.noise.window import WindowBlock
from versadp.noise.words import Keystream

NUMBERS = {f"x{j}": vdp.Bounded(-1, 1) for j in range(3)}
GROUPS = {"group": vdp.Categorical(["a", "b", "c"]), "member": vdp.Categorical([False, True])}
SCHEMA = vdp.Schema({**NUMBERS, **GROUPS, "y": vdp.Public()})
PEOPLE = vdp.Schema({**NUMBERS, **GROUPS, "y": vdp.Public()}, id="pid")
STEPS = vdp.Schema({"age": vdp.Bounded(18, 90, step=1), "income": vdp.Bounded(0, 5e5), **GROUPS})
NULLS = vdp.Schema(
    {
        "age": vdp.Bounded(18, 90, step=1, nullable=True),
        "income": vdp.Bounded(0, 5e5, nullable="public"),
        "group": vdp.Categorical(["a", "b", "c"], nullable=True),
        "y": vdp.Public(),
    }
)
SCALE, KEEP = {"x0": 0.8, "x1": 2.0, "x2": 4.0}, {"group": 0.1, "member": 0.4}
ZIL = vdp.Mechanism(SCHEMA, scale=SCALE, exact_rate=0.05, keep=KEEP)
KEYED = vdp.Mechanism(PEOPLE, scale=SCALE, exact_rate=0.05, keep=KEEP)
SINGLE = vdp.Mechanism(
    STEPS, noise={name: vdp.noise.Window(epsilon=1 + place) for place, name in enumerate(STEPS.private)}
)
JOINT = vdp.Mechanism(STEPS, noise={STEPS.private: vdp.noise.Window(epsilon=6)})
MISSING = vdp.Mechanism(
    NULLS, noise={("age", "income"): vdp.noise.Window(epsilon=3), "group": vdp.noise.Response(keep=0.2)}
)
LEVELS = vdp.Mechanism(vdp.Schema({"group": GROUPS["group"], "y": vdp.Public()}), keep=0.4)
UNEVEN = [vdp.Mechanism(LEVELS.schema, keep=keep) for keep in (0.35, 0.45)]
TWO = vdp.Mechanism(vdp.Schema(GROUPS), keep={"group": 0.2, "member": 0.4})
HONEST = {
    "zil": ZIL,
    "keyed": KEYED,
    "single windows": SINGLE,
    "joint windows": JOINT,
    "missing": MISSING,
    "one category": LEVELS,
    "two categories": TWO,
}


def honest(mech):
    return lambda table: mech.release(table, shuffle=False).frame


def one_key(mech):
    return lambda table: mech.release(table, shuffle=False, key=bytes(range(32))).frame


def other_noise(mech, **changes):
    """The paper's mechanism with other numbers than it says."""
    parameters = {"scale": mech.scale, "exact_rate": mech.exact_rate, "keep": mech.keep} | changes
    return honest(vdp.Mechanism(mech.schema, **parameters))


def raw_offsets(mech, kind):
    """Values are not put on the grid, or lattice: what noise is added to keeps the offset inside its cell."""
    true = kind.to_content

    def raw(self, values):
        bounds = self.bounds if kind is WindowBlock else tuple(zip(self.lower, self.upper, strict=True))
        lower, upper = np.array(bounds).T
        offset = (np.clip(values, lower[:, None], upper[:, None]) - lower[:, None]) / self.step[:, None]
        true(self, values)
        values += offset - np.rint(offset)

    def path(table):
        with patch.object(kind, "to_content", raw):
            return honest(mech)(table)

    return path


def narrow_window(mech, column):
    """Kept values of one column stay in the middle half of their window."""
    true = WindowBlock.add_noise

    def add_noise(self, content, words):
        place = None if column not in self.columns else self.columns.index(column)
        before = content.copy()
        true(self, content, words)
        if place is not None:
            kept, w = words[0] < np.uint64(self.kept), self.window[place]
            near = before[place] + w // 4 + np.floor(words[1 + place] * 2.0**-64 * (w // 2))
            content[place, kept] = near[kept]

    def path(table):
        with patch.object(WindowBlock, "add_noise", add_noise):
            return honest(mech)(table)

    return path


def spared_window(mech, column, low, high):
    """Records whose value of one column lies between two bounds are moved to the middle of their windows, always."""
    true = WindowBlock.add_noise

    def add_noise(self, content, words):
        before = content.copy()
        true(self, content, words)
        place = before[self.columns.index(column)]
        last = self.last[self.columns.index(column)]
        spared = (place > low * last) & (place < high * last)
        content[:, spared] = (before + (np.array(self.window)[:, None] - 1) // 2)[:, spared]

    def path(table):
        with patch.object(WindowBlock, "add_noise", add_noise):
            return honest(mech)(table)

    return path


def by_public(even, odd):
    """Who has an even public value is released by one mechanism, who has an odd one by another."""

    def path(table):
        outs = [honest(mech)(table) for mech in (even, odd)]
        which = pa.array(table["y"].to_numpy() % 2 == 1)
        return pa.table({name: _choose(which, outs[1][name], outs[0][name]) for name in outs[0].column_names})

    return path


def kept_more_often(mech, columns, factor):
    """The coin of one window keeps more records than it says."""
    true = WindowBlock.add_noise

    def add_noise(self, content, words):
        if self.columns == columns:
            words = words.copy()
            words[0] = (words[0] / factor).astype(np.uint64)
        true(self, content, words)

    def path(table):
        with patch.object(WindowBlock, "add_noise", add_noise):
            return honest(mech)(table)

    return path


def unnoised(mech, column, low, high):
    """Records whose value of one column lies between two bounds are released as they are."""

    def path(table):
        out = honest(mech)(table)
        values = table[column].to_numpy(zero_copy_only=False)
        spared = pa.array((values > low) & (values < high))
        columns = {name: _choose(spared, table[name], out[name]) for name in mech.schema.private}
        return pa.table({name: columns.get(name, out[name]) for name in out.column_names})

    return path


def _choose(flags, yes, no):
    return pc.if_else(flags, yes.combine_chunks().cast(no.type), no.combine_chunks())


def on_the_grid(mech):
    """What `unnoised` needs, so that it is not found for being off the grid: values are put there first."""

    def prepared(path):
        def release(table):
            columns = {name: table[name] for name in table.column_names}
            for block in mech.blocks:
                if isinstance(block, ZeroInflatedBlock):
                    content = np.stack([table[name].to_numpy() for name in block.columns])
                    block.to_content(content)
                    block.to_values(content)
                    columns |= {name: pa.chunked_array([v]) for name, v in zip(block.columns, content, strict=True)}
            return path(pa.table(columns))

        return release

    return prepared


def shared_words(mech, change):
    """Words of a slab are changed before they are used."""
    true = Keystream.slab

    def path(table):
        with patch.object(Keystream, "slab", lambda self, *given: change(self, true, *given)):
            return honest(mech)(table)

    return path


def neighbours_share(self, true, number, content, words):
    out = true(self, number, content, words).copy()
    out[:, 1::2] = out[:, : out.shape[1] // 2 * 2 : 2]
    return out


def strangers_share(self, true, number, content, words):
    """Every row shares its noise with another one of its slab, whichever."""
    out = true(self, number, content, words).copy()
    order = np.random.default_rng(number).permutation(out.shape[1])
    half = out.shape[1] // 2
    out[:, order[half : 2 * half]] = out[:, order[:half]]
    return out


def slabs_share(self, true, number, content, words):
    return true(self, 0, np.zeros_like(content), words)


def columns_share(self, true, number, content, words):
    """The last two categories have the same coin and the same word."""
    out = true(self, number, content, words).copy()
    out[-2:] = out[-4:-2]
    return out


def grouped(group, true=Keystream.records):
    """Records keyed by a group of people in place of the person."""

    def records(self, content, names, words, versions=None):
        starts = names.starts.tolist()
        ids = [int(names.data[a:b].tobytes()) for a, b in pairwise(starts)]
        return true(self, content, Texts.of([b"%d" % group(i) for i in ids]), words, versions)

    return records


def groups_share(mech, group):
    """Noise is keyed by a group of people in place of the person."""

    def path(table):
        with patch.object(Keystream, "records", grouped(group)):
            return honest(mech)(table)

    return path


def missing_shows(mech):
    """Who is missing in `age` is released as missing, always."""

    def path(table):
        out = honest(mech)(table)
        seen = pc.if_else(table["age"].combine_chunks().is_null(), None, out["age"].combine_chunks())
        return out.set_column(out.column_names.index("age"), "age", seen)

    return path


CHEATS = {
    "exact rate x 1.2": (ZIL, other_noise(ZIL, exact_rate=0.06)),
    "raw offsets, Laplace": (ZIL, raw_offsets(ZIL, ZeroInflatedBlock)),
    "raw offsets, windows": (SINGLE, raw_offsets(SINGLE, WindowBlock)),
    "raw offsets, joint window": (JOINT, raw_offsets(JOINT, WindowBlock)),
    "interior without noise": (ZIL, on_the_grid(ZIL)(unnoised(ZIL, "x0", -0.1, 0.1))),
    "interior without noise, joint window": (JOINT, spared_window(JOINT, "age", 0.45, 0.55)),
    "neighbours share noise": (ZIL, shared_words(ZIL, neighbours_share)),
    "neighbours share noise, windows": (JOINT, shared_words(JOINT, neighbours_share)),
    "neighbours share noise, one category": (LEVELS, shared_words(LEVELS, neighbours_share)),
    "rows share noise in secret pairs": (ZIL, shared_words(ZIL, strangers_share)),
    "slabs share noise": (ZIL, shared_words(ZIL, slabs_share)),
    "slabs share noise, windows": (SINGLE, shared_words(SINGLE, slabs_share)),
    "columns share noise": (ZIL, shared_words(ZIL, columns_share)),
    "pairs of ids share noise": (KEYED, groups_share(KEYED, lambda i: i // 2)),
    "fifty keyed groups": (KEYED, groups_share(KEYED, lambda i: i % 50)),
    "one column's scale x 0.5": (ZIL, other_noise(ZIL, scale=SCALE | {"x2": 2.0})),
    "one window half as wide": (SINGLE, narrow_window(SINGLE, "income")),
    "one window half as wide, joint": (JOINT, narrow_window(JOINT, "income")),
    "the strongest window kept x 1.1": (SINGLE, kept_more_often(SINGLE, ("age",), 1.1)),
    "keep of the stronger category x 1.2": (
        TWO,
        honest(vdp.Mechanism(TWO.schema, keep={"group": 0.24, "member": 0.4})),
    ),
    "a category kept 0.35 or 0.45, by who": (LEVELS, by_public(*UNEVEN)),
    "every release has one key": (ZIL, one_key(ZIL)),
    "every release has one key, one category": (LEVELS, one_key(LEVELS)),
    "missing shows": (MISSING, missing_shows(MISSING)),
}
