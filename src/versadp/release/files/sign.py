"""Signing a release: the key of signatures lies in the state folder, and only what its ledger knows is signed."""

from __future__ import annotations

from pathlib import Path

from versadp import inputs
from versadp.errors import KeyMaterialError, ReleaseError
from versadp.release.atomic_write import create, sync_folder
from versadp.release.checkpoints import reached
from versadp.release.files.places import find, home_of
from versadp.release.files.refusals import unfit, writing
from versadp.release.folder.folder import open_folder
from versadp.release.folder.manifest import MANIFEST, MAX_MANIFEST
from versadp.release.folder.signature import SIGNATURE, Signature, key_text, public_bytes, signature_at
from versadp.release.folder.storage import OnDisk
from versadp.release.ledger.state import State


def sign(out: str | Path, *, state: str | Path | None = None) -> str:
    """Sign a release that is there, and return the public key by which others check it (`vdp.load(trusted=)`).

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
    place = Path(out).absolute()
    digest = open_folder(place).manifest.digest
    with writing(), State(home_of(place, state)) as opened:
        history = find(opened, place)
        assert history is not None
        if digest not in {history.manifest, history.running and history.running.publish}:
            raise unfit()
        return sign_in_place(opened, place, history.name)


def sign_in_place(state: State, place: Path, name: str) -> str:
    """Put a signature beside a manifest, unless this state's is there already; return the public key."""
    secret, text = state.signing_key(), _manifest(place)
    try:
        there = signature_at(OnDisk(place))
    except ReleaseError:
        there = None
    if there is None or there.key != public_bytes(secret) or not there.fits(text):
        scratch = (
            place.parent / f".{place.name}.{name}.sig"
        )  # beside the release, which holds what is named and no more
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
