"""Releasing: a mechanism is a schema plus noise; a release is what came out of it."""

from versadp.release.mechanism import Mechanism
from versadp.release.release import Release, load

__all__ = ["Mechanism", "Release", "load"]
