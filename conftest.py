"""Tests and doctests remember nothing at home, run on one day, and draw the same keys in every run."""

from __future__ import annotations

import hashlib
import itertools
import os
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING

import hypothesis
import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# tests that pass today pass tomorrow: keys, names and generators without a seed are drawn from what is running, and so
# depend neither on chance nor on the tests before it; processes that tests start draw their own
hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None)
hypothesis.settings.load_profile("fixed")
_DEFAULT_RNG = np.random.default_rng
# innermost last: a module that is imported, a test, a fixture that it sets up; and how much each has drawn
_DRAWING = [("", itertools.count())]
_INSTANCES = {}  # of a test with parameters, by its name
_PROCESS = os.getpid()


def _token_bytes(size=None):
    (name, numbers), forked = _DRAWING[-1], os.getpid() - _PROCESS
    return hashlib.shake_256(f"{name} {next(numbers)} {forked}".encode()).digest(32 if size is None else size)


def _default_rng(seed=None):
    return _DEFAULT_RNG(list(_token_bytes()) if seed is None else seed)


def pytest_configure():
    secrets.token_bytes, np.random.default_rng = _token_bytes, _default_rng


@contextmanager
def _drawn_for(name):
    _DRAWING.append((name, itertools.count()))
    try:
        yield
    finally:
        _DRAWING.pop()


def pytest_itemcollected(item):
    """Leave all but every k-th instance of a test that is marked `thinned(k)` to `make test-full`."""
    if thinned := item.get_closest_marker("thinned"):
        counted = _INSTANCES.setdefault(item.nodeid.partition("[")[0], itertools.count())
        if next(counted) % thinned.args[0]:
            item.add_marker("full")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    with _drawn_for(collector.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    with _drawn_for(item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    with _drawn_for(f"{fixturedef.baseid} {fixturedef.argname} {request.param_index}"):
        return (yield)


@pytest.fixture(autouse=True, scope="session")
def _day() -> Iterator[None]:
    """Release on one day: what is compared does not differ at midnight."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1772366400")  # 2026-03-01
        yield


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test a user of its own, who has no ledger and remembers none (`release/ledger/rollback_guard.py`)."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    for name in ("VERSADP_STATE", "VERSADP_WITNESS"):
        monkeypatch.delenv(name, raising=False)
