"""The release path, attacked empirically."""

from versadp.auditing.audit import Audit, audit
from versadp.auditing.files import through_files

__all__ = ["Audit", "audit", "through_files"]
