"""Known answers for device clients in any language, in layers, so that a failure says where it is.

    laws        mechanism JSON -> law bytes of each block, fingerprint per context
    thresholds  windows, outputs, epsilon, delta -> T, how many of 2^64 words keep a record
    words       key, context, law, places -> key of the block, words; and ids of reports
    outputs     given words -> outputs: the coin at T-1, T, T+1, 0 and 2^64-1, and words at the edges of cells
    contents    values -> places before noise, and whether they were clamped
    records     whole reports
    refusals    mechanisms, records and rounds that every client must refuse

    python -m versadp.devices.vectors [FILE]      writes the file that is shipped, `vectors-4.json`

Whole numbers of 64 bits and places are decimal text, bytes are hexadecimal. Every layer lists cases; a client that has
no part for a layer (a device without id columns) has nothing to skip.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from versadp.devices import vectors_laws, vectors_records, vectors_refusals

FORMAT, VERSION = "versadp device vectors", 4
SHIPPED = Path(__file__).with_name("vectors-4.json")
LAYERS = {
    "laws": vectors_laws.laws,
    "thresholds": vectors_laws.thresholds,
    "words": vectors_laws.words,
    "ids": vectors_laws.ids,
    "outputs": vectors_laws.outputs,
    "contents": vectors_records.contents,
    "records": vectors_records.records,
    "refusals": vectors_refusals.refusals,
}


def load() -> dict[str, Any]:
    """Return the vectors that are shipped.

    Examples
    --------
    >>> list(load())
    ['format', 'version', 'laws', 'thresholds', 'words', 'ids', 'outputs', 'contents', 'records', 'refusals']
    """
    data: dict[str, Any] = json.loads(SHIPPED.read_text(encoding="utf-8"))
    return data


def make() -> dict[str, Any]:
    """Return the vectors, computed anew: the same on every run.

    Examples
    --------
    >>> len(make()["thresholds"])
    200
    """
    return {"format": FORMAT, "version": VERSION} | {name: layer() for name, layer in LAYERS.items()}


def to_text(vectors: dict[str, Any]) -> str:
    """Return the vectors as JSON with one case per line.

    Examples
    --------
    >>> print(to_text({"version": 4, "ids": [{"round": "a"}]}))
    {
    "version": 4,
    "ids": [
    {"round": "a"}
    ]
    }
    """
    parts = []
    for name, layer in vectors.items():
        cases = ",\n".join(json.dumps(case, ensure_ascii=True) for case in layer) if isinstance(layer, list) else ""
        value = f"[\n{cases}\n]" if isinstance(layer, list) else json.dumps(layer)
        parts.append(f"{json.dumps(name)}: {value}")
    return "{\n" + ",\n".join(parts) + "\n}"


def main(arguments: list[str]) -> None:
    """Write the vectors to the file named, or to where they are shipped from."""
    place = Path(arguments[0]) if arguments else SHIPPED
    place.write_text(to_text(make()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
