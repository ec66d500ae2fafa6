"""Sixty models under noise: loss x noise x design x missing values, each with known coefficients.

Every later change of the estimators is held against the same sixty fits (`frozen.py`, `alternatives.py`). The
index of a cell is its own design with known coefficients, so that the truth is exact for every loss but the hinge's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, ndtri

import versadp as vdp
from versadp.losses import Check, Hinge, Huber, Mean
from versadp.noise import Response, Window
from versadp.planning.precision import anew

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LEVELS = ("n", "e", "s", "w")
EFFECTS = (0.0, 0.5, -0.4, 0.3)  # of the levels, in the index
NUMBERS = {"a": (-1.0, 1.0, None), "b": (0.0, 20.0, 1), "w": (1.0, 9.0, None)}  # bounds and step
SIGMA = 0.8  # of normal errors
MISSING = 0.12  # share of a column's values, on average
RESPONSE_BOUND = 6.0  # of a private response: further than errors reach
SHUFFLED = 20_000  # records of a shuffled release
CLASSES = ("k0", "k1", "k2")
INTERCEPT, SLOPE = 0.3, 0.7
HINGE_ROWS, HINGE_BANDWIDTH, HINGE_RIDGE, HINGE_STEPS = 400_000, 0.1, 0.05, 60  # of the fit that gives its truth

# name of a design: its right side, and the columns that it needs
DESIGNS: dict[str, tuple[str, tuple[str, ...]]] = {
    "one number": ("a", ("a",)),
    "several": ("a + b + w", ("a", "b", "w")),
    "category": ("a + C(g)", ("a", "g")),
    "interaction": ("a * C(g)", ("a", "g")),
    "product": ("a * b", ("a", "b")),
    "function": ("a + np.log(w)", ("a", "w")),
    "function by level": ("np.log(w):C(g)", ("w", "g")),
    "polynomial": ("a + I(a ** 2)", ("a",)),
    "no formula": ("", ("a", "b")),
}
LOSSES: dict[str, Any] = {
    "squared": "squared",
    "logistic": "logistic",
    "poisson": "poisson",
    "check 0.5": "check",
    "check 0.9": Check(tau=0.9),
    "huber": Huber(),
    "hinge": "hinge",
    "mean": Mean("a"),
    "multinomial": "multinomial",
}


def own_loss(x: Array, theta: Array) -> Array:
    """Return the logistic loss of a response, the third column, as a user would write it."""
    u = theta[0] + theta[1] * x[:, 0]
    return np.asarray(np.logaddexp(0, u) - x[:, 2] * u)


@dataclass(frozen=True)
class Cell:
    """One model under noise.

    Attributes
    ----------
    loss, noise, design, missing : str
        Keys of `LOSSES` (or "own") and of `DESIGNS`; "joint", "separate", "response", "zil", "zil + response",
        "wide zil + response" (four times the noise variance), "readme" or "shuffled"; "none", "private" or "public".
    n : int
        Number of records.

    Examples
    --------
    >>> cell = Cell("logistic", "joint", "category", "private", 4000)
    >>> cell.name, cell.formula
    ('logistic, joint, category, private', 'y ~ a + C(g)')
    """

    loss: str
    noise: str
    design: str
    missing: str
    n: int

    @property
    def name(self) -> str:
        """All that tells it from other cells."""
        return ", ".join([self.loss, self.noise, self.design, *([self.missing] if self.missing != "none" else [])])

    @property
    def columns(self) -> tuple[str, ...]:
        """Its columns but the response; at README's own mechanism the model may use fewer than are released."""
        return ("a", "b", "g") if self.noise == "readme" else DESIGNS[self.design][1]

    @property
    def is_zero_inflated(self) -> bool:
        """True if its numbers have zero-inflated Laplace noise."""
        return "zil" in self.noise or self.noise == "readme"

    @property
    def response(self) -> str | None:
        """The column of the response."""
        named = {"logistic": "y", "own": "y", "poisson": "count", "hinge": "sign", "multinomial": "k", "mean": None}
        return named.get(self.loss, "v")

    @property
    def formula(self) -> str | None:
        """The model."""
        return None if self.design == "no formula" else f"{self.response} ~ {DESIGNS[self.design][0]}"

    @property
    def schema(self) -> vdp.Schema:
        """The schema, whose response is private under a shuffle, else public."""
        null: Any = {"none": False, "private": True, "public": "public"}[self.missing]
        columns: dict[str, Any] = {}
        for name in self.columns:
            if name == "g":
                columns[name] = vdp.Categorical(list(LEVELS), nullable=null)
            else:
                low, high, step = NUMBERS[name]
                columns[name] = vdp.Bounded(low, high, step=step, nullable=null if name == "a" else False)
        if self.response is not None:
            private = {"v": vdp.Bounded(-RESPONSE_BOUND, RESPONSE_BOUND), "y": vdp.Categorical([0, 1])}
            hidden = self.noise == "shuffled"
            columns[self.response] = private[self.response] if hidden else vdp.Public()
        return vdp.Schema(columns)

    @property
    def mechanism(self) -> vdp.Mechanism:
        """The mechanism that releases the records."""
        schema = self.schema
        private = [name for name, column in schema.columns.items() if not isinstance(column, vdp.Public)]
        numbers = [name for name in private if name != "g"]
        noise: dict[Any, Any]
        if self.noise == "joint":
            return vdp.Mechanism(schema, noise={tuple(private): Window(epsilon=8.0, missing="window")})
        if self.noise == "separate":
            return vdp.Mechanism(schema, noise={name: Window(epsilon=5.0, missing="window") for name in private})
        if self.noise == "response":
            noise = {tuple(numbers): Window(epsilon=6.0, missing="window")}
            return vdp.Mechanism(schema, noise=noise | {"g": Response(0.6)} if "g" in private else noise)
        if self.noise == "readme":
            # without the target, of whose delta a release warns
            return anew(vdp.calibrate(schema, epsilon=4, delta=0.1, unit="attribute", noise="zil"))
        if self.noise == "shuffled":
            return vdp.calibrate(schema, epsilon=1, delta=1e-6, unit="record", shuffled=SHUFFLED)
        wide = self.noise == "wide zil + response"
        keep = 0.5 if "g" in private else None
        return vdp.Mechanism(schema, scale=1.0 if wide else 0.5, exact_rate=0.3 if wide else 0.2, keep=keep)

    def index(self, raw: dict[str, Any]) -> Array:
        """Return the index of the design at its true coefficients, without the intercept."""
        effect = np.array(EFFECTS)[raw["level"]]
        a, b, w = raw["a"], raw["b"], raw["w"]
        terms = {
            "one number": SLOPE * a,
            "several": SLOPE * a + 0.05 * (b - 10) + 0.1 * (w - 5),
            "category": SLOPE * a + effect,
            "interaction": SLOPE * a + effect + 0.5 * a * effect,
            "product": SLOPE * a + 0.05 * b + 0.03 * a * b,
            "function": SLOPE * a + 0.4 * np.log(w),
            "function by level": np.log(w) * (0.3 + effect),
            "polynomial": SLOPE * a + 0.5 * a**2,
            "no formula": SLOPE * a,
        }
        return np.asarray(terms[self.design])

    def truth(self) -> Array:
        """Return the true coefficients."""
        if self.loss == "mean":
            return np.zeros(1)
        return _hinge_truth(self) if self.loss == "hinge" else self.truth_of_index()

    def truth_of_index(self) -> Array:
        """Return the coefficients of the index from which responses are drawn, once for each class but the first."""
        effect = np.array(EFFECTS)
        slopes: dict[str, Any] = {
            "one number": [SLOPE],
            "several": [SLOPE, 0.05, 0.1],
            "category": [SLOPE, *effect[1:]],
            "interaction": [SLOPE, *effect[1:], *0.5 * effect[1:]],
            "product": [SLOPE, 0.05, 0.03],
            "function": [SLOPE, 0.4],
            "function by level": 0.3 + effect,
            "polynomial": [SLOPE, 0.5],
            "no formula": [SLOPE],
        }
        above = SIGMA * float(ndtri(0.9)) if self.loss == "check 0.9" else 0.0
        off = 1.0 if self.design == "several" else 0.0  # whose columns are centred in the index
        one = np.array([INTERCEPT - off + above, *slopes[self.design]])
        return np.append(one, -one) if self.loss == "multinomial" else one

    def raw(self, seed: int, n: int | None = None) -> dict[str, Any]:
        """Return raw records, with `level` and all numbers: numbers are related, and values are missing by `b`."""
        rng, n = np.random.default_rng([34, seed]), n or self.n
        a = rng.uniform(-1, 1, n)
        b = np.clip(np.rint(10 + 4 * a + 4 * rng.standard_normal(n)), 0, 20)
        w = 1 + 8 * rng.beta(1.5, 2.5, n)
        level = np.digitize(a + 0.7 * rng.standard_normal(n), [-0.5, 0.1, 0.6])
        raw: dict[str, Any] = {"a": a, "b": b, "w": w, "level": level}
        u = INTERCEPT + self.index(raw)
        error = SIGMA * rng.standard_normal(n)
        raw["v"] = np.clip(u + error, -RESPONSE_BOUND, RESPONSE_BOUND)
        raw["y"] = (rng.random(n) < expit(u)).astype(int)
        raw["count"] = rng.poisson(np.exp(np.minimum(u, 3.0)))
        raw["sign"] = np.where(rng.random(n) < expit(2 * u), 1.0, -1.0)
        odds = np.stack([np.zeros(n), u, -u], axis=1) + rng.gumbel(size=(n, 3))
        raw["k"] = np.array(CLASSES)[odds.argmax(axis=1)]
        raw["lost"] = rng.random((2, n)) < MISSING  # of a, of g
        return raw

    def release(self, seed: int) -> vdp.Release:
        """Return the release of records that depend on the seed, by a key that does."""
        import pyarrow as pa

        raw = self.raw(seed)
        table: dict[str, Any] = {name: raw[name] for name in (*NUMBERS, "v", "y", "count", "sign", "k")}
        lost = dict(zip("ag", raw["lost"] & (self.missing != "none"), strict=True))
        table["g"] = pa.array(np.array(LEVELS)[raw["level"]], mask=lost["g"])
        table["a"] = pa.array(raw["a"], mask=lost["a"])
        names = list(self.schema.columns)
        key = sha256(f"cell {seed}".encode()).digest()
        return self.mechanism.release(pa.table({name: table[name] for name in names}), key=key, engine="serial")

    def fit(self, release: vdp.Release, **options: Any) -> Any:
        """Return the fit to a release, on one thread."""
        options.setdefault("engine", "serial")
        if self.loss == "own":
            return vdp.fit(release, loss=own_loss, start=np.zeros(2), **options)
        return vdp.fit(release, self.formula, loss=LOSSES[self.loss], **options)


@lru_cache(maxsize=8)
def _hinge_truth(cell: Cell) -> Array:
    """Return the coefficients of least hinge loss among many raw records: no formula has them."""
    raw = cell.raw(99, HINGE_ROWS)
    m = np.stack([np.ones(HINGE_ROWS), *(raw[name] for name in cell.columns)], axis=1)
    theta, loss = cell.truth_of_index(), Hinge()
    for _ in range(HINGE_STEPS):
        first, second = loss.derivatives(m @ theta, raw["sign"], 2, HINGE_BANDWIDTH)
        bend = m.T @ (m * second[:, None]) / HINGE_ROWS + HINGE_RIDGE * np.eye(theta.size)
        theta = theta - np.linalg.solve(bend, m.T @ first / HINGE_ROWS)
    return np.asarray(theta)


_TABLE = """
squared      joint           one number         none     4000
squared      joint           several            none     8000
squared      joint           category           none     8000
squared      joint           interaction        none     12000
squared      joint           product            none     8000
squared      joint           function           none     8000
squared      joint           function by level  none     12000
squared      joint           polynomial         none     8000
squared      joint           category           private  12000
squared      joint           several            public   8000
logistic     joint           one number         none     4000
logistic     joint           several            none     12000
logistic     joint           category           none     12000
logistic     joint           interaction        none     12000
logistic     joint           function           none     8000
logistic     joint           polynomial         none     8000
logistic     joint           category           private  12000
logistic     joint           several            public   12000
poisson      joint           one number         none     4000
poisson      joint           category           none     8000
check 0.5    joint           one number         none     8000
check 0.5    joint           several            none     8000
check 0.9    joint           one number         none     8000
huber        joint           category           none     8000
hinge        joint           one number         none     8000
mean         joint           no formula         none     4000
mean         joint           no formula         private  4000
mean         joint           no formula         public   4000
multinomial  joint           category           none     12000
own          joint           no formula         none     4000
squared      separate        several            none     8000
squared      separate        function           none     8000
squared      separate        category           private  8000
logistic     separate        several            none     12000
logistic     separate        category           none     8000
logistic     separate        product            none     8000
logistic     separate        one number         public   4000
poisson      separate        several            none     8000
check 0.5    separate        one number         none     8000
huber        separate        several            none     8000
multinomial  separate        one number         none     8000
squared      response        category           none     8000
squared      response        function by level  none     12000
logistic     response        category           private  12000
poisson      response        category           none     8000
squared      zil             several            none     8000
logistic     zil             one number         none     8000
logistic     zil             polynomial         none     8000
poisson      zil             one number         none     4000
check 0.5    zil             several            none     8000
check 0.9    zil             one number         none     8000
huber        zil             several            none     8000
hinge        zil             one number         none     8000
own          zil             no formula         none     4000
logistic     wide zil + response  category      none     10000
check 0.5    zil + response  category           none     4000
logistic     readme          one number         none     20000
logistic     readme          category           none     20000
squared      shuffled        several            none     20000
logistic     shuffled        one number         none     20000
"""


def _read(line: str) -> Cell:
    """Return the cell of a line, whose words are two blanks apart."""
    loss, noise, design, missing, n = (word.strip() for word in line.split("  ") if word.strip())
    return Cell(loss, noise, design, missing, int(n))


CELLS: dict[str, Cell] = {cell.name: cell for cell in map(_read, _TABLE.strip().splitlines())}
