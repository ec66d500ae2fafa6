"""The same people again, by other ways than the same file: budgets over mixed releases, other ids, other folders."""

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.errors import SpentError
from versadp.release.files.append import append_file
from versadp.release.files.release import release_file

N = 40
BLIND = vdp.Schema({"x": vdp.Bounded(0, 1)})
NAMED = vdp.Schema({"x": vdp.Bounded(0, 1)}, id="pid")
OTHER = vdp.Schema({"x": vdp.Bounded(0, 1)}, id="tax")


def write(folder, version=0):
    """The same people, whose values have changed a little in each version."""
    x = (np.arange(N) * 0.618 + 0.01 * version) % 1
    frame = pd.DataFrame({"pid": [f"p{i}" for i in range(N)], "tax": [f"t{i}" for i in range(N)], "x": x})
    for name, columns in (("blind", ["x"]), ("named", ["pid", "x"]), ("other", ["tax", "x"])):
        frame[columns].to_parquet(folder / f"{name}{version}.parquet", index=False)


class Provider:
    """A budget of 3 a person; every release costs 1."""

    def __init__(self, folder):
        self.folder, self.state = folder, folder / "state"
        for version in range(6):
            write(folder, version)

    def release(self, kind, name, again="charge", version=0):
        schema = {"blind": BLIND, "named": NAMED, "other": OTHER}[kind]
        mech = vdp.Mechanism(schema, scale=2.0, exact_rate=0.0)
        options = {"state": self.state, "again": again, "target": (1.0, 1e-6), "budget": (3.0, 1.0)}
        return release_file(self.folder / f"{kind}{version}.parquet", self.folder / name, mech, **options)

    def append(self, name, again="charge", version=0):
        data = self.folder / f"named{version}.parquet"
        return append_file(self.folder / name, data, state=self.state, again=again)

    def refuses(self, act):
        with pytest.raises(SpentError, match="budget"):
            act()


@pytest.fixture
def provider(tmp_path):
    return Provider(tmp_path)


def test_no_id_and_then_three_with_an_id_do_not_fit(provider):
    provider.release("blind", "0")
    provider.release("named", "1")
    provider.release("named", "2")
    provider.refuses(lambda: provider.release("named", "3"))


def test_an_id_with_charged_appends_and_then_without_an_id_does_not_fit(provider):
    provider.release("named", "0")
    provider.append("0", version=1)
    provider.append("0", version=2)
    provider.refuses(lambda: provider.release("blind", "1"))


def test_vouched_releases_do_not_leave_the_sum(provider):
    """Whoever is in the release of other people may be in all later ones."""
    provider.release("blind", "0", again="others")
    provider.release("blind", "1")
    provider.release("blind", "2")
    provider.refuses(lambda: provider.release("blind", "3"))


def test_other_people_have_a_budget_of_their_own(provider):
    for name in "012":
        provider.release("blind", name)
    provider.release("blind", "3", again="others")
    provider.refuses(lambda: provider.release("blind", "4"))


def test_another_id_column_is_refused_or_charged(provider):
    provider.release("named", "0")
    with pytest.raises(SpentError, match="without the same id"):
        provider.release("other", "1", again="refuse")
    provider.release("other", "1")
    provider.release("other", "2")
    provider.refuses(lambda: provider.release("other", "3"))
    provider.refuses(lambda: provider.release("named", "4"))


def test_an_append_after_a_release_without_an_id_is_refused_or_charged(provider):
    provider.release("named", "0", again="refuse")
    provider.release("blind", "1")
    with pytest.raises(SpentError, match="without the same id"):
        provider.append("0", again="refuse", version=1)
    assert provider.append("0", version=1).charged == N
    provider.refuses(lambda: provider.append("0", version=2))
