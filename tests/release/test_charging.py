"""One charging rule for every sequence of intakes, against all that can be true (`docs/theory/charging.md`)."""

import tempfile
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import versadp as vdp
from versadp.errors import SpentError
from versadp.release.files.append import append_file
from versadp.release.files.release import release_file
from versadp.release.ledger.exposure import Charged, Exposure

TAGS = (11, 22, 33)
BUDGET = 3

charges = st.tuples(st.integers(0, 5), st.integers(0, 5))
kinds = st.sampled_from(["blind", "others", "a", "b", "c"])
members = st.sets(st.sampled_from(TAGS), min_size=1).map(frozenset)
sequences = st.lists(st.tuples(kinds, charges, members), max_size=7)


# the rule against every story that can be true -----------------------------------------------------------------------


def exposure(sequence):
    """The rule, on a ledger that was never written."""
    steps = [
        Charged(when, None if kind in {"blind", "others"} else kind, charge, kind == "others")
        for when, (kind, charge, _) in enumerate(sequence)
    ]

    def read():
        for step, (_, charge, tags) in zip(steps, sequence, strict=True):
            if step.id is not None:
                yield step, np.array([[tag, step.when, *charge] for tag in tags], np.uint64)

    return Exposure(steps, read)


def stories(sequence):
    """Yield who somebody may be (a tag, or nobody, in each id column) with the intakes that they may have been in."""
    blind = [when for when, (kind, _, _) in enumerate(sequence) if kind in {"blind", "others"}]
    columns = sorted({kind for kind, _, _ in sequence} & set("abc"))
    for who in product((None, *TAGS), repeat=len(columns)):
        person = dict(zip(columns, who, strict=True))
        named = {w for w, (kind, _, tags) in enumerate(sequence) if kind in person and person[kind] in tags}
        for count in range(len(blind) + 1):
            for some in combinations(blind, count):
                inside = named | set(some)
                # who was vouched to be somebody else was in nothing before
                if all(not any(w < at for w in inside) for at in some if sequence[at][0] == "others"):
                    yield person, inside


def worst(sequence, column=None, tag=None):
    """The most that a person may really have been charged, each number on its own."""
    costs = [
        [sum(sequence[w][1][k] for w in inside) for k in (0, 1)]
        for person, inside in stories(sequence)
        if column is None or person.get(column) == tag
    ]
    return np.max(costs, axis=0).tolist()


@settings(max_examples=300, deadline=None)
@given(sequences)
def test_the_charge_is_the_most_that_can_be_true(sequence):
    """Not below it, which would overspend; and not above it, which would waste."""
    rule = exposure(sequence)
    assert list(rule.most()) == worst(sequence)
    for column in "abc":
        found = rule.known(column).find(np.array([[tag, 0, 0, 0] for tag in (*TAGS, 99)], np.uint64))
        charged = rule.of(column, found).tolist()
        for tag, has, known in zip((*TAGS, 99), charged, found.known, strict=True):
            assert has == worst(sequence, column, tag if known else None), (column, tag)


def test_the_oracle_can_tell_a_wrong_rule():
    """The rule of before left vouched releases out of the sum, and what was blind out of what people had."""
    sequence = [("blind", (1, 0), {11}), ("others", (3, 0), {11}), ("blind", (1, 0), {11}), ("a", (1, 0), {11})]
    assert worst(sequence) == [5, 0]
    assert sum(charge[0] for kind, charge, _ in sequence if kind == "blind") == 2


# the same through the commands: a population with two ids each, and somebody who counts -----------------------------

SCHEMAS = {None: vdp.Schema({"x": vdp.Bounded(0, 1)})} | {
    name: vdp.Schema({"x": vdp.Bounded(0, 1)}, id=name) for name in ("one", "two")
}
actions = st.tuples(
    st.sampled_from(["release", "append"]),
    st.sampled_from([None, "one", "two"]),
    st.sampled_from(["refuse", "charge", "others"]),
    st.sets(st.integers(0, 3), min_size=1),
    st.booleans(),
)


def act(place, action, step, made, spent):
    """Do one thing to a population of four; `spent` counts what each of them was really charged.

    `made` knows the releases: id column, and the records of the newest edition by person.
    """
    verb, column, again, people, changed = action
    if again == "others" and (column is not None or verb == "append" or any(spent[p] for p in people)):
        return  # whoever vouches tells the truth here
    out = f"out{step}"
    if verb == "append":
        out = next((name for name, (id_, _) in made.items() if id_ == column and column is not None), None)
        if out is None:
            return
    values = {p: round(0.1 * p + 0.001 * step * changed, 3) for p in sorted(people)}
    frame = pd.DataFrame({"x": values.values()})
    if column is not None:
        frame[column] = [f"{column}-{p * 7}" for p in sorted(people)]
    frame.to_parquet(place / "data.parquet")
    mech = vdp.Mechanism(SCHEMAS[column], scale=2.0, exact_rate=0.0)  # epsilon sqrt(2)/2: charged with 1
    try:
        if verb == "release":
            options = {"again": again, "target": (1.0, 1e-6), "budget": (float(BUDGET), 1.0)}
            release_file(place / "data.parquet", place / out, mech, state=place / "state", **options)
        else:
            options = {"again": again, "without_missing_people": True}
            append_file(place / out, place / "data.parquet", state=place / "state", **options)
    except SpentError:
        return
    _, newest = made.get(out, (column, {}))
    new = values if again == "charge" and values != newest else {p: v for p, v in values.items() if newest.get(p) != v}
    for p in new:
        spent[p] += 1
    made[out] = column, (new if again == "charge" and new else newest | new)
    assert len(vdp.load(place / out)) == len(made[out][1])


def run(sequence):
    with tempfile.TemporaryDirectory() as name:
        made, spent = {}, [0, 0, 0, 0]
        for step, action in enumerate(sequence):
            act(Path(name), action, step, made, spent)
        return spent


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(actions, min_size=3, max_size=5))
def test_nobody_is_released_more_often_than_the_budget_allows(sequence):
    assert max(run(sequence)) <= BUDGET


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(actions, min_size=4, max_size=9))
def test_nobody_is_released_more_often_than_the_budget_allows_at_length(sequence):
    assert max(run(sequence)) <= BUDGET


# ledgers from before -------------------------------------------------------------------------------------------------


def test_an_old_ledger_over_its_budget_is_read_and_charged_no_more(tmp_path, monkeypatch):
    """By the rule of before four releases were accepted that cost 1 each, of people whose budget is 3."""
    import versadp.release.files.intake as runs
    import versadp.release.files.intent as begins

    blind, named = tmp_path / "blind.parquet", tmp_path / "named.parquet"
    frame = pd.DataFrame({"x": [0.1, 0.2, 0.3], "one": ["a", "b", "c"]})
    frame[["x"]].to_parquet(blind)
    frame.to_parquet(named)
    mech = {name: vdp.Mechanism(schema, scale=2.0, exact_rate=0.0) for name, schema in SCHEMAS.items()}
    options = {"state": tmp_path / "state", "again": "charge", "target": (1.0, 1e-6), "budget": (3.0, 1.0)}
    with monkeypatch.context() as old:
        old.setattr(begins, "exposure_before", lambda *_: exposure([]))
        old.setattr(runs, "exposure_before", lambda *_: exposure([]))
        release_file(blind, tmp_path / "0", mech[None], **options)
        for name in "123":
            release_file(named, tmp_path / name, mech["one"], **options)
    for name in "123":  # what was made is made: the same command finds it, and costs nothing
        assert len(release_file(named, tmp_path / name, mech["one"], **options)) == 3
    assert append_file(tmp_path / "1", named, state=tmp_path / "state", again="charge").charged == 0
    with pytest.raises(SpentError, match="3 people have no budget left"):
        release_file(named, tmp_path / "4", mech["one"], **options)
    with pytest.raises(SpentError, match="epsilon 3, delta 1 a person, and this release would make it epsilon 5"):
        release_file(blind, tmp_path / "4", mech[None], **options)
    frame.assign(x=[0.5, 0.6, 0.7]).to_parquet(named)
    with pytest.raises(SpentError, match="3 people have no budget left"):
        append_file(tmp_path / "1", named, state=tmp_path / "state", again="charge")


def test_a_charge_beyond_counting_fits_into_no_budget():
    from versadp.release.files.charges import allowance, whole

    assert whole(1e300, 0.0) > allowance(1e300, 0.0)
