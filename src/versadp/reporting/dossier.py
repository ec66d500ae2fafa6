"""`dossier`: papers about a release, for a registry, for the people in it, and for its curator."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from versadp import inputs
from versadp.errors import ParameterError
from versadp.release.folder.manifest import MANIFEST
from versadp.release.release import as_release
from versadp.reporting.annex import annex
from versadp.reporting.facts import Facts
from versadp.reporting.label import label
from versadp.reporting.notice import notice
from versadp.reporting.registry import UNKNOWN, entry, figures

if TYPE_CHECKING:
    from pathlib import Path

    from versadp.release.release import Release
    from versadp.reporting.document import Document


@dataclass(frozen=True)
class Dossier:
    """Papers about a release; `files` are their names and texts, `save` writes them.

    Attributes
    ----------
    entry : dict
        For the public registry of deployments: `registry.json`.
    figures : dict
        All guarantees as numbers: `figures.json`.
    documents : dict of str to Document
        "label" (on one page), "notice" (to the people) and "annex" (in the words of data protection law).
    missing : tuple of str
        What the publisher did not state.
    """

    entry: dict[str, Any]
    figures: dict[str, Any]
    documents: dict[str, Document]
    missing: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Dossier: {', '.join(self.files)}; save(folder) writes it>"

    @property
    def unknown(self) -> tuple[str, ...]:
        """Fields of the registry's entry that no manifest knows."""
        return UNKNOWN

    @property
    def files(self) -> dict[str, str]:
        """Names and texts of the files."""
        texts = {"registry.json": _json(self.entry), "figures.json": _json(self.figures)}
        for name, document in self.documents.items():
            texts[f"{name}.html"] = document.html().html
            texts[f"{name}.md"] = document.markdown()
        return texts

    def save(self, folder: str | Path) -> None:
        """Write the files into a folder, in place of an older dossier; the folder of a release is refused."""
        place: Path = inputs.path(folder, "a folder to write into")
        if (place / MANIFEST).exists():
            raise ParameterError(
                f"{str(place)!r} is the folder of a release, which holds what its manifest names and nothing else",
                hint="choose another folder: out=... (--out)",
            )
        texts = self.files
        try:
            place.mkdir(parents=True, exist_ok=True)
            for name, text in texts.items():
                (place / name).write_text(text, encoding="utf-8")
        except OSError as problem:
            raise ParameterError(
                f"cannot write into {place.name!r} ({type(problem).__name__})",
                hint="choose a folder that can be written",
            ) from None


def dossier(release: Release | str | Path, out: str | Path | None = None) -> Dossier:
    """Return a dossier of a release: registry entry, privacy label, notice to the people, annex on data protection.

    Everything follows from the mechanism and the manifest; no record is read. Needs the extra `versadp[report]`.

    Parameters
    ----------
    release : Release, str or Path
        A release, or the folder of one.
    out : str or Path, optional
        A folder to write the files into.

    Returns
    -------
    Dossier

    Examples
    --------
    >>> import versadp as vdp
    >>> made = vdp.dossier(vdp.example(2000))
    >>> list(made.files)[:4]
    ['registry.json', 'figures.json', 'label.html', 'label.md']
    >>> made.missing[:3]
    ('title', 'curator', 'contact')
    """
    facts = Facts(as_release(release))
    documents = {"label": label(facts), "notice": notice(facts), "annex": annex(facts)}
    made = Dossier(entry(facts), figures(facts), documents, facts.missing)
    if out is not None:
        made.save(out)
    return made


def _json(value: Any) -> str:
    """Return JSON that can stand within a page of HTML: its texts hold no tag, and mean the same."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text + "\n"
