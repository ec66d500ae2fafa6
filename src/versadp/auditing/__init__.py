"""The release path, attacked empirically."""

from versadp.auditing.audit import Audit, audit

__all__ = ["Audit", "audit"]
