"""What is summed, and by how much one record or attribute changes it: by brute force over whole small domains."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from versadp import Bounded, Categorical, Dates, Mechanism, Schema
from versadp.noise import Response, Window, ZeroInflated
from versadp.release.totals.count import exact_totals, rounding_words
from versadp.release.totals.features import SHEETS, Features, features_of, sensitivities
from versadp.release.totals.law import TotalsLaw
from versadp.release.totals.nodes import Nodes, TotalsColumn
from versadp.release.totals.sheet import Totals

KINDS = {
    "number": TotalsColumn("number", 3, missing=False, category=False),
    "binary": TotalsColumn("binary", 2, missing=False, category=False),
    "nullable": TotalsColumn("nullable", 2, missing=True, category=False),
    "levels": TotalsColumn("levels", 3, missing=False, category=True),
    "nullable levels": TotalsColumn("nullable levels", 2, missing=True, category=True),
}
# with the share of (D + 1)² that a record reaches in sheet B: all of it where score vectors can add up to -1
DOMAINS = {
    ("number",): 1,
    ("levels",): 3 / 4,
    ("nullable",): 1,
    ("number", "number"): 8 / 9,
    ("number", "nullable"): 1,
    ("binary", "binary", "binary"): 1,
    ("binary", "binary", "binary", "binary"): 24 / 25,
    ("number", "number", "levels"): 1,
    ("nullable", "nullable levels", "number"): 1,
}


def features(*kinds):
    return Features(tuple(replace(KINDS[kind], name=f"{kind} {i}") for i, kind in enumerate(kinds)), {})


def weighted(found, content):
    """Return every record's features by sheet, each over the standard deviation of its noise."""
    words = np.zeros((rounding_words(found), 1), np.uint64)
    rows = np.array([exact_totals(found, record[:, None].astype(float), words) for record in content])
    unit = np.array([feature.scale * feature.noise for feature in found.all])
    sheet = np.array([feature.sheet for feature in found.all])
    return {name: (rows / unit)[:, sheet == name] for name in SHEETS}


def worst(rows, content, unit):
    """Return the largest squared change of a sheet between two records that are neighbours."""
    gram = rows @ rows.T
    apart = gram.diagonal()[:, None] + gram.diagonal() - 2 * gram
    if unit == "attribute":
        apart = apart[(content[:, None] != content).sum(axis=2) <= 1]
    return apart.max()


@pytest.mark.parametrize("kinds", DOMAINS, ids="-".join)
@pytest.mark.parametrize("unit", ["record", "attribute"])
def test_sensitivities_hold_on_every_pair_of_records(kinds, unit):
    found = features(*kinds)
    content = np.array(list(product(*(range(c.points + c.missing) for c in found.columns))))
    sheets = weighted(found, content)
    stated = dict(zip(SHEETS, sensitivities(len(kinds), unit), strict=True))
    seen = {name: worst(rows, content, unit) for name, rows in sheets.items() if rows.shape[1]}
    assert all(seen[name] <= stated[name] * (1 + 1e-12) for name in seen)
    assert all(seen[name] == pytest.approx(stated[name]) for name in seen if name != "B")
    if unit == "record":
        assert seen["B"] == pytest.approx(DOMAINS[kinds] * stated["B"])
    elif not all("levels" in kind for kind in kinds):  # a number from end to end, all others full
        assert seen["B"] == pytest.approx(stated["B"])


def test_a_square_of_full_weight_would_break_the_bound():
    found = features("levels", "levels")
    content = np.array(list(product(range(3), repeat=2)))
    rows = weighted(found, content)["B"]
    squares = np.array([f.noise > 1 for f in found.all if f.sheet == "B"])
    assert worst(np.where(squares, rows * np.sqrt(2), rows), content, "record") > sensitivities(2, "record")[1]


def mechanism():
    schema = Schema(
        {
            "age": Bounded(18, 90),
            "visits": Bounded(0, 40, step=1, nullable=True),
            "region": Categorical(["n", "e", "s"], nullable=True),
            "day": Dates("2020-01-01", "2020-12-31"),
        }
    )
    return Mechanism(
        schema, noise={("age", "visits"): Window(4.0), "region": Response(0.5), "day": Window(4.0, window=81)}
    )


def test_totals_are_sums_of_the_terms_over_records_in_expectation():
    rng = np.random.default_rng(8)
    mech = mechanism()
    found = features_of(mech.blocks, mech.schema)
    n = 4000
    content = np.array([rng.integers(0, c.points + c.missing, n) for c in found.columns], dtype=float)
    wide = {column.name: column for column in found.columns}
    for name, row in zip(wide, content, strict=True):  # a missing value is somewhere behind the lattice
        row[row == wide[name].points] += 0 if name == "region" else 3
    rounds = 60
    sums = [
        exact_totals(found, content, rng.integers(0, 2**64, (rounding_words(found), n), np.uint64))
        for _ in range(rounds)
    ]
    unit = np.array([feature.scale for feature in found.all])
    seen = np.array(sums) / unit
    at = {
        column.name: np.minimum(row, column.points).astype(int)
        for column, row in zip(found.columns, content, strict=True)
    }
    terms = found.terms
    values = np.ones((n, terms.size))
    for name in terms.functions:
        values *= terms.functions[name][at[name]][:, terms.at[name]]
    number = {each: i for i, each in enumerate(found.products)}
    expected = values.sum(axis=0)[[number[feature.product] for feature in found.all]]
    error = np.maximum(seen.std(axis=0) / np.sqrt(rounds), 1e-6 * n)
    assert np.abs(seen.mean(axis=0) - expected).max() < 5.5 * error.max()
    assert (np.abs(seen.mean(axis=0) - expected) / error).max() < 5.5
    exact = np.array([f.sheet != "C" and len(f.product) == 1 and f.product[0][0] == "visits" for f in found.all])
    assert (np.ptp(sums, axis=0)[exact] == 0).all()  # 41 natural levels are not rounded one by one
    assert np.abs(seen.mean(axis=0) - 1.02 * expected).max() > 5.5 * error.max()  # and the test would notice


def test_totals_add_up_over_lots():
    rng = np.random.default_rng(8)
    mech = mechanism()
    found = features_of(mech.blocks, mech.schema)
    content = np.array([rng.integers(0, c.points + c.missing, 500) for c in found.columns], dtype=float)
    words = rng.integers(0, 2**64, (rounding_words(found), 500), np.uint64)
    whole = exact_totals(found, content, words)
    lots = np.array_split(rng.permutation(500), 7)
    assert (whole == sum(exact_totals(found, content[:, lot], words[:, lot]) for lot in lots)).all()


@pytest.mark.parametrize(("points", "stride"), [(1000, 64), (1000, 27), (40, 1)])
def test_rounding_goes_to_neighbours_only_and_never_beyond(points, stride):
    nodes, content = Nodes(points, stride), np.arange(float(points))
    low = nodes.rounded(content, np.full(points, 2**64 - 1, np.uint64))
    high = nodes.rounded(content, np.zeros(points, np.uint64))
    assert (low == np.searchsorted(nodes.places, content, side="right") - 1).all()
    assert (high == np.searchsorted(nodes.places, content)).all()
    assert nodes.hats.sum(axis=1) == pytest.approx(np.ones(points))
    assert nodes.hats @ nodes.places == pytest.approx(content)


def test_columns_that_cannot_be_in_a_sheet_say_why():
    schema = Schema(
        {
            "wage": Bounded(0, 1e6),
            "income": Bounded(0, 1e6, nullable="public"),
            "town": Categorical([f"t{i}" for i in range(70)]),
            "grams": Bounded(0, 1e6, step=1),
            "prime": Bounded(0, 99, step=1),
            "age": Bounded(0, 60, step=1),
        }
    )
    noise = {"wage": ZeroInflated(0.5, 0.02), "prime": Window(4.0, window=31)}
    mech = Mechanism(schema, noise=noise | dict.fromkeys(["income", "town", "grams", "age"], Window(4.0)))
    found = features_of(mech.blocks, schema)
    assert [column.name for column in found.columns] == ["age"]
    assert set(found.left_out) == {"wage", "income", "town", "grams", "prime"}


def test_law_spends_its_share_of_mu_squared():
    mech = mechanism()
    found = features_of(mech.blocks, mech.schema)
    law = TotalsLaw.of(found, 0.237, share=0.3, rows=2)
    assert law.mu("record", 2) == pytest.approx(0.237 * 0.3**0.5)
    assert law.mu("attribute", 2) < law.mu("record", 2)
    assert TotalsLaw.from_dict(law.to_dict()) == law


def test_equal_counts_of_several_sheets_are_combined_by_precision():
    rng = np.random.default_rng(8)
    mech = mechanism()
    found = features_of(mech.blocks, mech.schema)
    law = TotalsLaw.of(found, 0.237)
    totals = Totals(mech, law, 1000, rng.integers(0, 1000, found.size))
    total, noise = totals.scaled
    key = (("region", (3, 1)),)
    at = [i for i, feature in enumerate(found.all) if feature.product == key]
    assert len(at) == 3  # cells, sums and squares
    j = found.products.index(key)
    weight = noise[at] ** -2.0
    assert totals.means[j] == pytest.approx((total[at] @ weight) / weight.sum() / 1000)
    assert totals.sd[j] == pytest.approx(weight.sum() ** -0.5 / 1000)
    assert totals.table().num_rows == found.size
