"""A detached signature of a manifest: `manifest.sig` beside it, by Ed25519 over the manifest's bytes.

The manifest holds the digests of all parts, so what is signed is the whole release. An append is signed before its
manifest appears, and the signature of the manifest that it replaces stays beside it: whoever reads meanwhile finds one
that fits. `docs/format.md` has the form of the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from versadp import inputs
from versadp.errors import ParameterError, ReleaseError, VersadpError

if TYPE_CHECKING:
    from versadp.release.folder.manifest import Manifest
    from versadp.release.folder.storage import Storage

SIGNATURE = "manifest.sig"
MAX_SIGNATURE = 4096  # bytes of the file
KEY_BYTES = 32
_MOST = 2  # signatures in a file: of the manifest, and of the one before it
_FORMAT, _VERSION = "versadp signature", 1
_KEY = re.compile(r"ed25519:([0-9a-f]{64})")
_HEX = re.compile(r"[0-9a-f]{128}")


@dataclass(frozen=True)
class Signature:
    """Contents of a signature file.

    Attributes
    ----------
    key : bytes
        The public key.
    signatures : tuple of bytes
        One of them fits the manifest.

    Examples
    --------
    >>> made = Signature.make(bytes(range(32)), b"a manifest")
    >>> made.fits(b"a manifest"), made.fits(b"another")
    (True, False)
    >>> Signature.parse(made.text()) == made
    True
    """

    key: bytes
    signatures: tuple[bytes, ...]

    @classmethod
    def make(cls, secret: bytes, manifest: bytes, before: Signature | None = None, old: bytes = b"") -> Signature:
        """Sign a manifest; a signature of the `old` one that it replaces is kept."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        own = Ed25519PrivateKey.from_private_bytes(secret).sign(manifest)
        kept = [] if before is None else [each for each in before.signatures if _fits(before.key, each, old)]
        return cls(public_bytes(secret), tuple(dict.fromkeys([own, *kept]))[:_MOST])

    def fits(self, manifest: bytes) -> bool:
        """Return whether one of the signatures is that of a manifest, by the key that the file names."""
        return any(_fits(self.key, each, manifest) for each in self.signatures)

    def text(self) -> bytes:
        """Return the file."""
        import json

        signatures = [each.hex() for each in self.signatures]
        whole = {"format": _FORMAT, "version": _VERSION, "key": key_text(self.key), "signatures": signatures}
        return f"{json.dumps(whole, indent=2)}\n".encode()

    @classmethod
    def parse(cls, text: bytes) -> Signature:
        """Read what `text` returned, and refuse anything else."""
        try:
            data = inputs.json_value(text)
        except ValueError:  # UnicodeDecodeError is one
            raise _malformed() from None
        fields = {"format": str, "version": int, "key": str, "signatures": list}
        if not isinstance(data, dict) or {name: type(value) for name, value in data.items()} != fields:
            raise _malformed()
        key, made = _KEY.fullmatch(data["key"]), data["signatures"]
        known = data["format"] == _FORMAT and data["version"] == _VERSION and 1 <= len(made) <= _MOST
        if not known or key is None or not all(type(each) is str and _HEX.fullmatch(each) for each in made):
            raise _malformed()
        return cls(bytes.fromhex(key[1]), tuple(map(bytes.fromhex, made)))


def public_bytes(secret: bytes) -> bytes:
    """Return the public key of a secret one."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def key_text(key: bytes) -> str:
    """Return a public key as one line of text.

    Examples
    --------
    >>> key_text(bytes(32))[:12]
    'ed25519:0000'
    """
    return f"ed25519:{key.hex()}"


def read_key(trusted: str | bytes | PathLike[str]) -> bytes:
    """Return a public key that is given as text, as 32 bytes, or as the path of a file that has its text.

    Examples
    --------
    >>> read_key(key_text(bytes(32))) == read_key(bytes(32)) == bytes(32)
    True
    """
    if isinstance(trusted, bytes) and len(trusted) == KEY_BYTES:
        return trusted
    if isinstance(trusted, bytes):
        return _key_of(trusted)
    if isinstance(trusted, str) and trusted.strip().startswith("ed25519:"):
        return _key_of(trusted.encode(errors="replace"))
    if not isinstance(trusted, str | PathLike):
        raise _no_key()
    try:
        return _key_of(inputs.file_bytes(Path(trusted), MAX_SIGNATURE))
    except (OSError, ValueError) as problem:
        if isinstance(problem, ParameterError):
            raise
        raise _no_key() from None


def check_signature(storage: Storage, manifest: Manifest, trusted: bytes) -> None:
    """Refuse a release whose manifest was not signed with a key."""
    from versadp.release.folder.manifest import text_of

    text = text_of(manifest, storage)  # before the signature: an append puts its signature first
    found = signature_at(storage)
    if found is None:
        raise ReleaseError("the release is not signed", hint="fetch it with its manifest.sig, from who signed it")
    if found.key != trusted:
        raise ReleaseError(
            "the release is signed with another key than the trusted one",
            hint="ask its publisher, by another way, which key is theirs",
        )
    if not found.fits(text):
        raise ReleaseError(
            "the signature is not one of this manifest: it was changed, or belongs to another release",
            hint="fetch the release again, from who signed it",
        )


def signature_at(storage: Storage) -> Signature | None:
    """Return the signature that lies beside a manifest; None if there is none, an error if it is no signature."""
    try:
        text = storage.signature()
    except FileNotFoundError:
        return None
    except (OSError, RuntimeError) as problem:
        if isinstance(problem, VersadpError):  # a store that does not answer
            raise
        raise _malformed() from None
    return Signature.parse(text)


def copied(storage: Storage) -> bytes | None:
    """Return the signature file that goes with a copy of a release; what is no signature is left behind."""
    try:
        found = signature_at(storage)
    except ReleaseError:
        return None
    return None if found is None else found.text()


def _fits(key: bytes, signature: bytes, manifest: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, manifest)
    except (InvalidSignature, ValueError):
        return False
    return True


def _key_of(text: bytes) -> bytes:
    found = _KEY.fullmatch(text.decode("ascii", errors="replace").strip())
    if found is None:
        raise _no_key()
    return bytes.fromhex(found[1])


def _no_key() -> ParameterError:
    return ParameterError(
        "trusted is not a public key",
        hint="give ed25519: and 64 hexadecimal digits, 32 bytes, or a file with that text, as "
        "`versadp ledger --public-key` prints it",
    )


def _malformed() -> ReleaseError:
    return ReleaseError(f"{SIGNATURE} is not a signature that this versadp knows", hint="fetch the release again")
