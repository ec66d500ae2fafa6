"""Vectors below the record: laws in typed bytes, thresholds, words, and outputs for given words.

The mechanisms are few and each has something that a client may get wrong: Unicode in names and levels, bounds whose
shortest decimal text differs between languages, dates before 1970, missing values both ways, several columns per block,
delta, many levels.
"""

from __future__ import annotations

import hmac
import json
import random
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.devices.fingerprint import fingerprint, report_id
from versadp.noise import Response, Window
from versadp.noise.window_law import WORDS, kept_words
from versadp.release.mechanism import Mechanism
from versadp.release.path.device_words import DOMAIN, block_words, text
from versadp.schema import Bounded, Categorical, Dates, Omitted, Public, Schema

if TYPE_CHECKING:
    from versadp.noise import Spec
    from versadp.schema import Column

CONTEXTS = ("", "clinic", "日本")
ROUNDS = ("2026-11", "a", "r" * 64)


@cache
def mechanisms() -> dict[str, Mechanism]:
    """Return the mechanisms by name.

    Examples
    --------
    >>> len(mechanisms())
    12
    """
    people: dict[str, Column | Omitted] = {"age": Bounded(18, 90, step=1), "income": Bounded(0, 500_000)}
    each: dict[str, tuple[dict[str, Column | Omitted], dict[str | tuple[str, ...], Spec]]] = {
        "one number": ({"age": people["age"]}, {"age": Window(2.0)}),
        "numbers jointly": (people | {"temp": Bounded(-40.3, 51.7)}, {("age", "income", "temp"): Window(4.0)}),
        "numbers each": (people, {"age": Window(1.0), "income": Window(0.7)}),
        "bounds that languages write differently": (
            {"small": Bounded(1e-5, 3.3e-5), "large": Bounded(-1e22, 1e17), "tenth": Bounded(0.1, 0.7, step=0.1)},
            {"small": Window(3.3), ("tenth", "large"): Window(7.5)},
        ),
        "categories": (
            {
                "region": Categorical(["nörd", 'e"st', "s\\ud", "日本", "", "line\nbreak"]),
                "kids": Categorical([0, 1, 2, -3]),
                "member": Categorical([False, True]),
                "y": Public(),
            },
            {"region": Window(2.0), "kids": Response(0.3), "member": Window(1.0)},
        ),
        "many levels": ({"country": Categorical([f"c{i}" for i in range(200)])}, {"country": Response(0.1)}),
        "dates": (
            {"born": Dates("1930-01-01", "2008-12-31"), "seen": Dates("2020-02-28", "2024-03-01")},
            {"born": Window(2.0), "seen": Window(1.0)},
        ),
        "old dates, publicly missing": (
            {"d": Dates("0900-01-01", "1100-12-31", nullable="public"), "x": Bounded(0, 1, nullable="public")},
            {"d": Window(1.0), "x": Window(1.0)},
        ),
        "missing privately": (
            {
                "x": Bounded(0, 10, step=1, nullable=True),
                "g": Categorical(["a", "b"], nullable=True),
                "h": Categorical([1, 2, 3], nullable=True),
                "d": Dates("2000-01-01", "2000-12-31", nullable=True),
            },
            {("x", "g"): Window(3.0), "h": Response(0.4), "d": Window(2.0)},
        ),
        "delta": (people, {("age", "income"): Window(0.01, delta=1e-3)}),
        "twenty jointly": (
            {f"q{i}": Bounded(0, 10, step=1) for i in range(20)},
            {tuple(f"q{i}" for i in range(20)): Window(8.0)},
        ),
        "odd names, an omitted column": (
            {
                "__proto__": Bounded(0, 1),
                "note": Omitted(),
                "0": Categorical(["constructor", "toString"]),
                "größe": Bounded(0, 250),
                "y": Public(),
                "z": Public(),
            },
            {"größe": Window(1.5), "0": Window(1e-4), "__proto__": Window(30.0)},
        ),
    }
    return {name: Mechanism(Schema(columns), noise=noise) for name, (columns, noise) in each.items()}


def laws() -> list[dict[str, Any]]:
    """Return the mechanisms as JSON, with the law of each block and a fingerprint per context.

    Examples
    --------
    >>> laws()[0]["laws"][0][:12]
    '060000000000'
    """
    found = []
    for number, (name, mechanism) in enumerate(mechanisms().items()):
        written = mechanism.to_json()
        if number == 2:
            written = _rewritten(mechanism)
        prints = {context: fingerprint(mechanism, context) for context in CONTEXTS}
        found.append(
            {
                "name": name,
                "mechanism": written,
                "laws": [law.hex() for law in mechanism.block_laws],
                "fingerprints": prints,
            }
        )
    return found


def _rewritten(mechanism: Mechanism) -> str:
    """Return the JSON as another program might write it: other order and numbers, reserved fields, lines."""
    data = mechanism.to_dict()
    data["schema"]["columns"][0] |= {"spacing": "linear", "effective": None}
    written = json.dumps(dict(sorted(data.items())), indent=1)
    return re.sub(r"(\d)\.0\b", r"\1", written.replace("500000.0", "5E5"))


def thresholds() -> list[dict[str, Any]]:
    """Return 200 windows with their thresholds, epsilon at both ends and delta among them.

    Examples
    --------
    >>> thresholds()[0]
    {'window': [1], 'outputs': [2], 'epsilon': 0.0001, 'delta': 0.0, 'threshold': '922337202916854'}
    """
    rng, found = random.Random(4), []  # noqa: S311 - cases, and no noise
    for number in range(200):
        columns = rng.choice([1, 1, 2, 3, 8, 20])
        window = [rng.choice([1, rng.randint(1, 50), rng.randint(1, 10**6), 4096]) for _ in range(columns)]
        outputs = [w + rng.choice([1, rng.randint(1, 300), rng.randint(1, 10**9)]) for w in window]
        epsilon = rng.choice([1e-4, 30.0, rng.uniform(1e-4, 30), rng.choice([0.5, 1.0, 2.0, 4.0, 8.0])])
        delta = rng.choice([0.0, 0.0, 1e-6, rng.random() * 0.5, 0.999, 1e-300])
        if number < 2:
            window, outputs, epsilon, delta = [1], [2], (1e-4, 30.0)[number], 0.0
        # a hair less than is stated, as in `WindowBlock.kept`
        kept = kept_words(tuple(window), tuple(outputs), epsilon * (1 - 1e-14), delta * (1 - 1e-12))
        threshold = str(min(kept, WORDS - 1))
        found.append({"window": window, "outputs": outputs, "epsilon": epsilon, "delta": delta, "threshold": threshold})
    return found


def words() -> list[dict[str, Any]]:
    """Return keys, contexts, laws and places with the key of the block and its words.

    Examples
    --------
    >>> sorted(words()[0])
    ['context', 'count', 'key', 'law', 'own', 'places', 'words']
    """
    rng, found = random.Random(5), []  # noqa: S311 - cases, and no noise
    short = [b"", b"\x00", bytes(range(39)), bytes(55), bytes(56), bytes(64), bytes(300)]
    for law in [*short, *(law for mechanism in mechanisms().values() for law in mechanism.block_laws)]:
        key, context = rng.randbytes(32), rng.choice(CONTEXTS)
        for count in (2, rng.randint(3, 21)):
            places = [rng.choice([0, 1, 255, 256, 2**31 - 2, 2**53 - 1, None]) for _ in range(count - 1)]
            content = np.array([[np.nan if place is None else float(place)] for place in places])
            made = block_words(key, law, content, count, context=context, name=None)
            found.append(
                {
                    "key": key.hex(),
                    "context": context,
                    "law": law.hex(),
                    "places": [None if place is None else str(place) for place in places],
                    "count": count,
                    "own": hmac.digest(key, text(DOMAIN) + text(context) + law, "sha256").hex(),
                    "words": made.hex(),
                }
            )
    return found


def ids() -> list[dict[str, Any]]:
    """Return keys, fingerprints and rounds with the ids of reports.

    Examples
    --------
    >>> len(ids()[0]["id"])
    64
    """
    rng, found = random.Random(6), []  # noqa: S311 - cases, and no noise
    for name in ROUNDS:
        key, mechanism = rng.randbytes(32), rng.randbytes(32).hex()
        found.append({"key": key.hex(), "mechanism": mechanism, "round": name, "id": report_id(key, mechanism, name)})
    return found


def outputs() -> list[dict[str, Any]]:
    """Return places and words with the outputs of a block: coins at the threshold, words at the edges of cells.

    Examples
    --------
    >>> sorted(outputs()[0])
    ['block', 'mechanism', 'outputs', 'places', 'words']
    """
    rng, found = random.Random(7), []  # noqa: S311 - cases, and no noise
    for number, mechanism in enumerate(mechanisms().values()):
        for at, block in enumerate(mechanism.blocks):
            derived = block.derived()
            sizes = list(zip(*(derived.get(name, ()) for name in ("last", "window", "outputs")), strict=True))
            sizes = sizes or [(derived["levels"] - 1, 1, derived["levels"])]
            threshold = int(derived["threshold"])
            for case in range(14):
                coin = [0, threshold - 1, threshold, threshold + 1, WORDS - 1][case % 5]
                places = [_place(rng, case, *size) for size in sizes]
                given = [min(max(coin, 0), WORDS - 1), *(_edge(rng, case, w, n) for _, w, n in sizes)]
                content = np.array(places, dtype=float)[:, None]
                block.add_noise(content, np.array(given, dtype=np.uint64)[:, None])
                found.append(
                    {
                        "mechanism": number,
                        "block": at,
                        "places": list(map(str, places)),
                        "words": list(map(str, given)),
                        "outputs": [str(int(z)) for z in content[:, 0]],
                    }
                )
    return found


def _place(rng: random.Random, case: int, last: int, window: int, outputs: int) -> int:
    """Return a place: that of a missing value, if it may privately be missing, of the first value, the last, or any."""
    if outputs > last + window and case % 4 > 1:
        return last + window
    return (0, last, rng.randint(0, last))[case % 3]


def _edge(rng: random.Random, case: int, window: int, outputs: int) -> int:
    """Return a word at the edge of a cell: of the window if the record is kept, else of all outputs."""
    cells = window if case % 5 < 2 else outputs
    if case < 5:
        return (0, WORDS - 1)[case % 2]
    first = -(-rng.randint(1, cells) * WORDS // cells)  # first word of a cell, or 2^64
    return min(first, WORDS) - 1 if case % 2 else min(first, WORDS - 1)
