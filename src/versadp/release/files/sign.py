"""Signing a release: the key of signatures lies in the state folder, and only what its ledger knows is signed."""

from __future__ import annotations

from pathlib import Path

from versadp import inputs
from versadp.errors import KeyMaterialError, ReleaseError
from versadp.release.atomic_write import create, sync_folder
from versadp.release.checkpoints import reached
from versadp.release.files.places import find, home_of
from versadp.release.files.refusals import unfit, writing
from versadp.release.folder.edition_folders import edition_place
from versadp.release.folder.folder import open_folder
from versadp.release.folder.manifest import MANIFEST, MAX_MANIFEST
from versadp.release.folder.signature import SIGNATURE, Signature, key_text, public_bytes, signature_at
from versadp.release.folder.storage import OnDisk
from versadp.release.ledger.editions import editions_from
from versadp.release.ledger.state import State


def sign(out: str | Path, *, state: str | Path | None = None) -> str:
    """Sign all editions of a release that is there; return the public key by which others check it.

    They do so by `vdp.load(folder, trusted=key)`.

    The key is made when the first release of a state folder is signed, and stays there, also after `finalize`.

    Parameters
    ----------
    out : str or Path
        The release folder.
    state : str or Path, optional
        Where keys and ledger are kept; by default the ledger of this user that knows the release.

    Examples
    --------
    >>> import tempfile, pandas as pd, versadp as vdp
    >>> mech = vdp.Mechanism(vdp.Schema({"age": vdp.Bounded(18, 90)}), scale=0.25, exact_rate=0.2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pd.DataFrame({"age": [30, 41, 77]}).to_parquet(folder + "/people.parquet")
    ...     made = vdp.release_file(folder + "/people.parquet", folder + "/released", mech)
    ...     key = sign(folder + "/released")
    ...     vdp.load(folder + "/released", trusted=key)
    <Release: 3 records, 1 column, on disk>
    """
    base = Path(out).absolute()
    open_folder(base)
    with writing(), State(home_of(base, state)) as opened:
        first, key = find(opened, base), ""
        assert first is not None
        for number, history in enumerate(editions_from(opened.ledger, first), 1):
            place = edition_place(base, number)
            if not place.exists() and not history.done:  # nobody has seen it
                continue
            announced = history.running.publish if history.running else None
            if open_folder(place).manifest.digest not in {history.manifest, announced}:
                raise unfit()
            key = sign_in_place(opened, place, base)
        return key


def is_signed(place: Path) -> bool:
    """Return whether a signature lies beside the manifest of a release."""
    return signature_at(OnDisk(place)) is not None


def sign_in_place(state: State, place: Path, base: Path) -> str:
    """Put a signature beside a manifest, unless this state's is there already; return the public key.

    It is written beside `base`, the folder of all editions, which holds what is named and no more.
    """
    secret, text = state.signing_key(), _manifest(place)
    try:
        there = signature_at(OnDisk(place))
    except ReleaseError:
        there = None
    if there is None or there.key != public_bytes(secret) or not there.fits(text):
        scratch = base.parent / f".{base.name}.sig"
        _write(scratch, Signature.make(secret, text))
        scratch.replace(place / SIGNATURE)
        sync_folder(place)
    return key_text(public_bytes(secret))


def sign_scratch(state: State, scratch: Path) -> None:
    """Sign a release that is about to appear."""
    _write(scratch / SIGNATURE, Signature.make(state.signing_key(), _manifest(scratch)))
    sync_folder(scratch)


def refuse_unsignable(state: State, place: Path) -> None:
    """Refuse to append to a release that was signed with a key that is not here: it would lose its signature."""
    there = signature_at(OnDisk(place))
    if there is not None and (not state.has_signing_key or public_bytes(state.signing_key()) != there.key):
        raise KeyMaterialError(
            "the release is signed, and its signing key is not in the state folder",
            hint=f"put the key back; or remove {SIGNATURE} from the release, append, and sign anew (`versadp sign`)",
        )


def sign_again(state: State, scratch: Path, place: Path) -> None:
    """Sign the manifest that an append is about to put in place, if the one that is there is signed."""
    there = signature_at(OnDisk(place))
    if there is None or not (scratch / MANIFEST).exists():
        return
    _write(scratch / SIGNATURE, Signature.make(state.signing_key(), _manifest(scratch), there, _manifest(place)))
    (scratch / SIGNATURE).replace(place / SIGNATURE)
    sync_folder(place)
    reached("signature moved")


def _manifest(folder: Path) -> bytes:
    return inputs.file_bytes(folder / MANIFEST, MAX_MANIFEST)


def _write(path: Path, made: Signature) -> None:
    path.unlink(missing_ok=True)
    create(path, made.text(), mode=0o666)
