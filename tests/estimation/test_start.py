"""Starts and bandwidths are the loss's own, of the records in the box."""

import numpy as np
import pytest

from versadp.correction import LinearModel, Records
from versadp.estimation import bandwidths, start
from versadp.noise.units import Units
from versadp_tests.loss_registry import LOSSES, response

LOW, HIGH, ONE = np.full(2, -1.0), np.full(2, 1.0), np.ones(2)
UNITS = Units(("a", "b"), 0 * ONE, ONE, LOW, HIGH, (LOW, HIGH), 1e-5 * ONE, 0.2)


def records(loss, n=3000):
    """More records outside the box than in it."""
    rng = np.random.default_rng(0)
    z = rng.uniform(-1.6, 1.6, (n, 2))
    y = response(loss, 0.3 + z @ [0.5, -0.4], rng)
    return Records(z, design=np.ones((n, 1)), response=y), (np.abs(z) <= 1).all(axis=1)


def model_of(loss):
    columns = np.array([-1, 0, 1])
    return LinearModel(loss, columns)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_only_records_in_the_box_count(loss):
    batch, inside = records(loss)
    assert 0.3 < inside.mean() < 0.5
    m, y = np.column_stack([np.ones(inside.sum()), batch.z[inside]]), batch.response[inside]
    assert start(model_of(loss), UNITS, batch) == pytest.approx(loss.start(m, y), rel=1e-12)
    assert bandwidths(model_of(loss), UNITS, batch, factor=1.2) == pytest.approx(loss.bandwidths(m, y, 1.2), rel=1e-12)
    everyone = np.column_stack([np.ones(batch.rows), batch.z])
    assert start(model_of(loss), UNITS, batch) != pytest.approx(loss.start(everyone, batch.response), rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_few_records_in_the_box_are_joined_by_the_nearest(loss):
    batch, inside = records(loss, 400)
    outside = batch.take(np.flatnonzero(~inside))
    found = start(model_of(loss), UNITS, outside)
    nearest = np.sort(np.argsort(UNITS.distance2(outside.z))[:60])
    m = np.column_stack([np.ones(60), UNITS.clip(outside.z[nearest])])
    assert found == pytest.approx(loss.start(m, outside.response[nearest]), rel=1e-9)
