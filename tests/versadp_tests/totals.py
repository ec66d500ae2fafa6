"""Releases with noisy totals, drawn from a generator: small and fast, for tests of the analyst's half."""

import numpy as np
import pyarrow as pa

from versadp import Bounded, Categorical, Release, Schema
from versadp.release.path.table import released_columns
from versadp.release.totals.features import features_of
from versadp.release.totals.law import TotalsLaw


class Sheet:
    """Totals with noise from a generator: what `versadp.release.totals.Totals` has for an analyst."""

    def __init__(self, mechanism, law, content, rng):
        features = features_of(mechanism.blocks, mechanism.schema)
        self.terms, self.left_out, self.rows = features.terms, features.left_out, len(next(iter(content.values())))
        number = {product: k for k, product in enumerate(features.products)}
        at = np.array([number[feature.product] for feature in features.all])
        scale = dict(zip("ABC", law.scale, strict=True))
        sd = np.array([scale[feature.sheet] * feature.noise for feature in features.all]) / self.rows
        place = {
            column.name: np.where(np.isnan(content[column.name]), column.points, np.nan_to_num(content[column.name]))
            for column in features.columns
        }
        means = np.zeros(self.terms.size)
        pairs = {}
        for k in range(self.terms.size):
            used = [n for n, at_ in self.terms.at.items() if not (self.terms.functions[n][:, at_[k]] == 1).all()]
            pairs.setdefault(tuple(used), []).append(k)
        for used, own in pairs.items():
            shape = [len(self.terms.functions[name]) for name in used]
            joint = np.ravel_multi_index([place[name].astype(int) for name in used], shape)
            share = np.bincount(joint, minlength=int(np.prod(shape))).reshape(shape) / self.rows
            tables = [self.terms.functions[name][:, self.terms.at[name][own]] for name in used]
            if len(used) == 1:
                means[own] = tables[0].T @ share
            else:
                means[own] = np.einsum("jk,jl,lk->k", tables[0], share, tables[1], optimize=True)
        noisy = means[at] + sd * rng.standard_normal(at.size)
        weight = np.bincount(at, sd**-2.0)
        self.means, self.sd = np.bincount(at, noisy * sd**-2.0) / weight, weight**-0.5


def released(mechanism, content, rng, *, law=None, public=None):
    """Return a release of lattice content, with totals beside it if there is a law for them.

    Parameters
    ----------
    mechanism : Mechanism
        Without totals of its own, or with.
    content : dict of str to array
        Lattice points 0, 1, ..., NaN for what is missing.
    rng : Generator
    law : TotalsLaw, optional
        By default the mechanism's.
    public : dict of str to array, optional
    """
    columns = {}
    for block in mechanism.blocks:
        own = np.stack([content[name] for name in block.columns]).astype(float)
        own = np.where(np.isnan(own), block.missing_place, own)
        block.add_noise(own, rng.integers(2**64, size=(block.words, own.shape[1]), dtype=np.uint64))
        block.to_values(own)
        columns |= dict(zip(block.columns, own, strict=True))
    shown = {name: pa.array(values) for name, values in (public or {}).items()}
    table = {name: pa.array(values) for name, values in released_columns(columns, shown, mechanism.schema).items()}
    law = law or getattr(mechanism, "totals", None)
    bare = mechanism.without_totals() if getattr(mechanism, "totals", None) else mechanism
    sheets = None if law is None else [Sheet(mechanism, law, content, rng)]
    return Release(pa.table(table), bare, totals=sheets)


def law_of(mechanism, mu):
    """Return the law of totals that spend mu."""
    return TotalsLaw.of(features_of(mechanism.blocks, mechanism.schema), mu, share=1 - 1e-12)


def schema_of(levels, nullable=()):
    """Return a schema of numbers with so many levels, and categories for those with two."""
    return Schema(
        {
            name: Categorical(list(range(count)), nullable=name in nullable)
            if count == 2
            else Bounded(0, count - 1, step=1, nullable=name in nullable)
            for name, count in levels.items()
        }
    )
