"""The command line: parse, call, show."""

from versadp.cli.main import main

__all__ = ["main"]
