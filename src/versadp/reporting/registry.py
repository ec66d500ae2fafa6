"""An entry for the public registry of deployments of differential privacy (OpenDP and NIST, since November 2025).

Its fields and their order are those of the template in the registry's data repository, `deployments-registry-data`;
what the manifest cannot know says so. The registry keeps YAML, of which JSON is a part.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from versadp.release.bounds.wording import bounds_words
from versadp.release.totals.wording import totals_words
from versadp.reporting.annex import assumed
from versadp.reporting.facts import NOT_STATED, named, shown_pair
from versadp.reporting.label import SEEDED, not_protected, trusted
from versadp.reporting.noise import declared

if TYPE_CHECKING:
    from versadp.reporting.facts import Facts, Figure

UNKNOWN = ("data_curator_type", "data_product_region", "data_product_sector", "evidence_sources", "registry_authors")
_ATTACKERS = {"shuffled": "not knowing which row is whose", "local": "knowing which row is whose"}


def entry(facts: Facts) -> dict[str, Any]:
    """Return the entry, as plain dictionaries.

    Examples
    --------
    >>> import versadp as vdp
    >>> from versadp.reporting.facts import Facts
    >>> list(entry(Facts(vdp.example(2000)))["deployment"])[:3]
    ['basic', 'dp_variant', 'privacy_loss']
    """
    return {
        "url_slug": slug(f"{facts.metadata.title or 'release'} {facts.metadata.curator or ''}"),
        "deployment": {
            "basic": _basic(facts),
            "dp_variant": _variant(facts),
            "privacy_loss": _privacy_loss(facts),
            "deployment_model": _model(facts),
            "implementation": _implementation(facts),
            "administrative": {
                "evidence_sources": {},
                "status": "Draft",
                "registry_authors": [NOT_STATED],
                "tier": 3,
            },
        },
    }


def slug(text: str) -> str:
    """Return a text as a part of an address.

    Examples
    --------
    >>> slug("Births, 2021 & more <b>")
    'births-2021-more-b'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:100].strip("-") or "release"


def _basic(facts: Facts) -> dict[str, Any]:
    return {
        "name": facts.said("title"),
        "data_curators": [{"data_curator_name": facts.said("curator"), "data_curator_type": NOT_STATED}],
        "description": f"{facts.rows:,} records with noise on each. Covers: {facts.said('covers')}. Contact: "
        f"{facts.said('contact')}",
        "intended_use": facts.said("purpose"),
        "data_product_type": "Microdata with noise on every record",
        "data_product_region": NOT_STATED,
        "data_product_sector": NOT_STATED,
        "publication_date": facts.said("date"),
    }


def _variant(facts: Facts) -> dict[str, Any]:
    pair = facts.figure("record").pair
    domain = "; ".join(f"{name}: {declared(facts.schema.columns[name])}" for name in facts.schema.private)
    return {
        "variant_name": "Pure DP" if pair is not None and not pair[1] else "Approximate DP",
        "data_domain": f"Tables of {facts.rows:,} records; the private columns of each are {domain}.",
        "unprotected_quantities": " ".join(not_protected(facts)),
    }


def _privacy_loss(facts: Facts) -> dict[str, Any]:
    epsilon, delta = facts.figure("record").pair or (None, None)
    words = " ".join(map(_in_words, facts.figures))
    return {
        "privacy_unit": "Person" if facts.schema.id is not None else "Record",
        "privacy_unit_details": "Neighbours: all private columns of one record are replaced; the number of records "
        f"and the public columns are the same for both. A record is {facts.person}.",
        "privacy_parameters": {} if epsilon is None or facts.release.insecure else {"epsilon": epsilon, "delta": delta},
        "privacy_parameters_details": f"{SEEDED} {words}" if facts.release.insecure else words,
    }


def _in_words(figure: Figure) -> str:
    unit = "a whole record" if figure.unit == "record" else "one attribute of it"
    attacker = _ATTACKERS[figure.attacker]
    return (
        f"For {unit}, {attacker}: {shown_pair(figure)}; at 1% false alarms the best attacker finds at most "
        f"{figure.found(0.01):g}%."
    )


def _model(facts: Facts) -> dict[str, Any]:
    which = f"Edition {facts.release.edition} of {facts.editions} of the same people; the figures count all editions. "
    editions = which if facts.editions > 1 else ""
    before = f"Releases of this population before this one, as its ledger knew: {facts.earlier}."
    return {
        "model_name": "Central",
        "model_name_details": "Noise is added to each record by itself, so that figures for an attacker who knows "
        "which row is whose need no crowd. The manifest does not say where noise was added: if on people's own "
        "devices, the model is Local, or Shuffle.",
        "trust_assumptions": " ".join(trusted(facts)),
        "actors": "Publisher: holds the records, the key and the ledger. Analysts: see the release only. Attackers: "
        "see the release, and know every other record.",
        "release_type": "Many releases" if facts.editions > 1 or facts.metadata.earlier else "One release",
        "release_type_details": editions + before,
        "data_source_type": "Static",
        "data_source_type_details": "Batches of people who were released together: "
        f"{len(facts.release.order.alike or (0,))}.",
        "access_type": "Non-interactive",
        "access_type_details": "The released records are a file; analyses of it cost no privacy.",
    }


def _implementation(facts: Facts) -> dict[str, Any]:
    laws = sorted({block.spec.name for block in facts.release.mechanism.blocks})
    return {
        "preprocessing_and_hyperparameter_tuning": _preprocessing(facts),
        "mechanisms": f"Noise: {', '.join(laws)}; private columns: {named(facts.schema.private)}. Software: "
        f"{facts.said('software')}. Sampler: AES-256 keystream under a 256-bit key, whole numbers on a grid that "
        "does not depend on the data. The key is not in "
        "the release. " + " ".join(assumed(facts)),
        "composition": "f-DP: trade-off functions of the mechanism's law, composed over the blocks of a record and "
        "over all editions; figures are rounded toward less privacy, and those of a shuffled order are upper bounds.",
        "post_processing": "Rows are sorted by a public hash of what is released of them."
        if facts.shuffled
        else "None.",
        "justification": facts.said("rationale"),
        "utility": "Not stated: follows from the noise, which is known exactly.",
        "additional_information": f"Manifest digest (SHA-256): {digest(facts)}",
    }


def _preprocessing(facts: Facts) -> str:
    """Return how bounds, levels and noise were set."""
    told = " ".join(line.strip() for line in bounds_words(facts.schema))
    what = "Noise was" if told else "Bounds, levels and noise were"
    moved = "Values outside the bounds were moved to the nearest bound."
    totals = " ".join(line.strip() for line in totals_words(facts.release.mechanism))
    kept = "as far as the publisher kept to it"
    return f"{moved} {what} set without looking at the data, {kept}. {told} {totals}".strip()


def digest(facts: Facts) -> str:
    """Return the digest of the manifest, if there is one."""
    return NOT_STATED if facts.release.manifest is None else facts.release.manifest.digest


def figures(facts: Facts) -> dict[str, Any]:
    """Return all figures as numbers, beside the entry, which has room for one pair."""
    return {
        "format": "versadp dossier",
        "version": 1,
        "manifest": None if facts.release.manifest is None else facts.release.manifest.digest,
        "metadata": facts.metadata.to_dict(),
        "records": facts.rows,
        "neighbours": "replace one record; the number of records is public",
        "unit": "person" if facts.schema.id is not None else "record",
        "insecure": facts.release.insecure,
        "editions": facts.editions,
        "smallest_public_group": facts.smallest,
        "private_columns": list(facts.schema.private),
        "public_columns": list(facts.schema.public),
        "guarantees": [figure.to_dict() for figure in facts.figures],
    }
