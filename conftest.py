"""Tests and doctests remember nothing at home, and run on one day."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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
