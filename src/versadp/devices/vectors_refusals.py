"""Vectors of refusals: mechanisms, records, rounds and contexts that every client must refuse.

What is not understood must not be released: an unknown field may mean less noise, and a value of another type may mean
another value.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from versadp.noise import Response, Window, ZeroInflated
from versadp.release.mechanism import Mechanism
from versadp.schema import Bounded, Categorical, Dates, Public, Schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from versadp.noise import Spec
    from versadp.schema import Column

_COLUMNS: dict[str, Column] = {
    "age": Bounded(18, 90, step=1),
    "region": Categorical(["n", "s"]),
    "day": Dates("2020-01-01", "2020-12-31", nullable=True),
    "kids": Categorical([0, 1, 2]),
    "y": Public(),
}
_NOISE: Mapping[str | tuple[str, ...], Spec] = {
    "age": Window(2.0),
    "region": Response(0.5),
    "day": Window(1.0),
    "kids": Window(1.0),
}
RECORD = {"age": 41, "region": "n", "day": "2020-02-29", "kids": 2, "y": 1}


def base() -> Mechanism:
    """Return the mechanism that cases change, each in one place.

    Examples
    --------
    >>> len(base().blocks)
    4
    """
    return Mechanism(Schema(_COLUMNS), noise=_NOISE)


def refusals() -> list[dict[str, Any]]:
    """Return the cases: each has a kind, and what is refused; the first is the mechanism that is accepted.

    A mechanism that is refused is the first one's text with the characters from `start` to `stop` replaced by `text`.

    Examples
    --------
    >>> sorted({case["kind"] for case in refusals()})
    ['accepted', 'context', 'mechanism', 'record', 'round']
    """
    good = base().to_json()
    found: list[dict[str, Any]] = [{"kind": "accepted", "mechanism": good, "record": RECORD}]
    found += [{"kind": "mechanism", "what": what} | _difference(good, made) for what, made in _mechanisms(good)]
    found += [{"kind": "record", "what": what, "record": RECORD | change} for what, change in _CHANGES]
    less = {name: value for name, value in RECORD.items() if name != "kids"}
    found.append({"kind": "record", "what": "a column less", "record": less})
    others = {"a list": [41], "text": "41", "null": None}
    found += [{"kind": "record", "what": f"{what} for a record", "record": bad} for what, bad in others.items()]
    found += [{"kind": "round", "what": what, "round": bad} for what, bad in _ROUNDS]
    found += [{"kind": "context", "what": what, "context": bad} for what, bad in _CONTEXTS]
    return found


def _difference(good: str, made: str) -> dict[str, Any]:
    """Return where two texts differ, and what stands there in the second."""
    start = _alike(good, made)
    end = _alike(good[start:][::-1], made[start:][::-1])
    return {"start": start, "stop": len(good) - end, "text": made[start : len(made) - end]}


def _alike(one: str, other: str) -> int:
    """Return how many characters two texts begin with in common."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


_CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("a column more", {"x": 1}),
    ("text for a number", {"age": "41"}),
    ("truth for a number", {"age": True}),
    ("null for a number", {"age": None}),
    ("a list for a number", {"age": [41]}),
    ("a number beyond 2^53", {"age": 2**53 + 2}),
    ("a huge number", {"age": -1e300}),
    ("a level that is none", {"region": "w"}),
    ("a level in another case", {"region": "N"}),
    ("null for a level", {"region": None}),
    ("blank text for a level", {"region": ""}),
    ("a number for text", {"region": 0}),
    ("text for a whole level", {"kids": "2"}),
    ("truth for a whole level", {"kids": True}),
    ("a level between", {"kids": 1.5}),
    ("a day that is none", {"day": "2021-02-29"}),
    ("a day of month 0", {"day": "2020-00-10"}),
    ("a day without dashes", {"day": "20200229"}),
    ("a day with a time", {"day": "2020-02-29T00:00"}),
    ("a day with a zone", {"day": "2020-02-29Z"}),
    ("a day with a space", {"day": " 2020-02-29"}),
    ("a day of year 0", {"day": "0000-01-01"}),
    ("a number for a day", {"day": 18321}),
    ("null for a public value", {"y": None}),
    ("a list for a public value", {"y": [1]}),
]
_ROUNDS: list[tuple[str, Any]] = [
    ("an empty round", ""),
    ("a long round", "r" * 65),
    ("a round with a space", "2026 11"),
    ("a round with a line break", "a\n"),
    ("a round that is no text", 11),
    ("a round that is null", None),
]
_CONTEXTS: list[tuple[str, Any]] = [
    ("a context that is not NFC", "e\u0301"),
    ("a context with half a character", "\ud800"),
    ("a context that is no text", 1),
]


def _mechanisms(good: str) -> list[tuple[str, str]]:
    """Return texts of mechanisms that are refused, with what is wrong with each."""
    repeated = json.loads(good)
    repeated["blocks"].append(repeated["blocks"][1])
    texts = [
        ("a block twice", json.dumps(repeated)),
        ("no JSON", "{"),
        ("something behind the end", good + "]"),
        ("a repeated name", good.replace('"lower": 18.0', '"lower": 17.0, "lower": 18.0')),
        ("a repeated name that is escaped", good.replace('"lower": 18.0', '"lower": 17.0, "\\u006cower": 18.0')),
        ("a number that is not finite", good.replace('"lower": 18.0', '"lower": -1e999')),
        ("a number that JSON does not know", good.replace('"upper": 90.0', '"upper": Infinity')),
        ("half a character", good.replace('"n", "s"', '"n", "\\ud800"')),
        ("a name that is not NFC", good.replace('"age"', '"a\\u0301ge"')),
        ("a level that is not NFC", good.replace('"n", "s"', '"n", "e\\u0301"')),
        ("a whole level beyond 2^53", good.replace("[0, 1, 2]", "[0, 1, 9007199254740993]")),
    ]
    for what, path, value in _EDITS:
        texts.append((what, _edited(good, path, value)))
    noise: dict[str | tuple[str, ...], Spec] = {**_NOISE, "age": ZeroInflated(0.5, 0.1)}
    learnt = Bounded(18, 90, step=1, declared=(0, 120))
    merged = Categorical(["n", "other"], merged=["s", "w"])
    others = {
        "learnt bounds": Mechanism(Schema({**_COLUMNS, "age": learnt}), noise=_NOISE),
        "merged levels": Mechanism(Schema({**_COLUMNS, "region": merged}), noise=_NOISE),
        "zero-inflated noise": Mechanism(Schema(_COLUMNS), noise=noise),
        "an id column": Mechanism(Schema(_COLUMNS, id="pid"), noise=_NOISE),
        "several rows per person": Mechanism(Schema(_COLUMNS, id="pid", rows_per_person=2), noise=_NOISE),
        "version 3": Mechanism(Schema({"kids": _COLUMNS["kids"]}), noise={"kids": Response(0.5)}).in_version(3),
    }
    return texts + [(what, other.to_json()) for what, other in others.items()]


_GONE = object()  # the field is taken out
_EDITS: list[tuple[str, tuple[Any, ...], Any]] = [
    ("another format", ("format",), "versadp schema"),
    ("version 5", ("version",), 5),
    ("version 3 with what is new in 4", ("version",), 3),
    ("version 4 as a float", ("version",), 4.0),
    ("a version as text", ("version",), "4"),
    ("a field more", ("extra",), 1),
    ("no target", ("target",), _GONE),
    ("a schema with a field more", ("schema", "extra"), 1),
    ("no columns", ("schema", "columns"), []),
    ("a column without a type", ("schema", "columns", 0, "type"), _GONE),
    ("a column of another type", ("schema", "columns", 0, "type"), "number"),
    ("a column with a field more", ("schema", "columns", 0, "unit"), "years"),
    ("a column without a name", ("schema", "columns", 0, "name"), ""),
    ("two columns of one name", ("schema", "columns", 4, "name"), "age"),
    ("a reserved field in use", ("schema", "columns", 0, "spacing"), "log"),
    ("bounds in the wrong order", ("schema", "columns", 0, "upper"), 17.0),
    ("a bound as text", ("schema", "columns", 0, "lower"), "18"),
    ("a step that does not divide", ("schema", "columns", 0, "step"), 0.7),
    ("nullable of another kind", ("schema", "columns", 0, "nullable"), "private"),
    ("one level", ("schema", "columns", 1, "levels"), ["n"]),
    ("a level twice", ("schema", "columns", 1, "levels"), ["n", "n"]),
    ("levels of two kinds", ("schema", "columns", 1, "levels"), ["n", 1]),
    ("levels that are no whole numbers", ("schema", "columns", 3, "levels"), [0, 1, 2.5]),
    ("a date that is none", ("schema", "columns", 2, "upper"), "2020-02-30"),
    ("no blocks", ("blocks",), []),
    ("a column without noise", ("blocks", 3), _GONE),
    ("noise on a public column", ("blocks", 3, "columns"), ["y"]),
    ("noise twice", ("blocks", 3, "columns"), ["region"]),
    ("noise that is unknown", ("blocks", 0, "noise"), "none"),
    ("a block with a field more", ("blocks", 0, "clip"), 1),
    ("epsilon below what there is", ("blocks", 0, "epsilon"), 1e-5),
    ("epsilon above what there is", ("blocks", 0, "epsilon"), 31.0),
    ("epsilon that does not fit the threshold", ("blocks", 0, "epsilon"), 1.9),
    ("delta of 1", ("blocks", 0, "delta"), 1.0),
    ("cells that are null", ("blocks", 0, "cells"), None),
    ("cells as a float", ("blocks", 0, "cells", "age"), 72.5),
    ("more places of a missing value than its window has", ("blocks", 2, "missing", "day"), 9999),
    ("places of a missing value that cannot be in the middle", ("blocks", 2, "missing", "day"), 2),
    ("places of a missing value of a column that has none", ("blocks", 0, "missing"), {"age": 1}),
    ("no derived integers", ("blocks", 0, "derived"), _GONE),
    ("a threshold above what epsilon allows", ("blocks", 0, "derived", "threshold"), str(2**64 - 1)),
    ("a threshold as a number", ("blocks", 0, "derived", "threshold"), 5),
    ("another last place", ("blocks", 0, "derived", "last"), [71]),
    ("other outputs", ("blocks", 0, "derived", "outputs"), [1]),
    ("a derived field more", ("blocks", 0, "derived", "bits"), [16]),
    ("keep of 1", ("blocks", 1, "keep"), 1.0),
    ("keep that does not fit the threshold", ("blocks", 1, "keep"), 0.6),
    ("other levels than the category has", ("blocks", 1, "derived", "levels"), 3),
]


def _edited(good: str, path: tuple[Any, ...], value: Any) -> str:
    """Return JSON with one value changed, added or taken out."""
    data = json.loads(good)
    *way, last = path
    place = data
    for step in way:
        place = place[step]
    if value is _GONE:
        del place[last]
    else:
        place[last] = value
    return json.dumps(data)
