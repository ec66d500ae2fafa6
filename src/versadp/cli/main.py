"""`versadp`: one command for provider, analyst and researcher.

Commands of other packages (`bench`, `reproduce`) are found by the entry-point group `versadp.commands`.
"""

from __future__ import annotations

import ast
import sys
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

from versadp import __version__
from versadp.display.width import Narrow
from versadp.errors import VersadpError

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMMANDS = {
    "append": "versadp.cli.append:append",
    "audit": "versadp.cli.audit:audit",
    "collect": "versadp.cli.collect:collect",
    "demo": "versadp.cli.demo:demo",
    "describe": "versadp.cli.describe:describe",
    "dossier": "versadp.cli.dossier:dossier",
    "finalize": "versadp.cli.finalize:finalize",
    "fit": "versadp.cli.fit:fit",
    "ledger": "versadp.cli.ledger:ledger",
    "people": "versadp.cli.people:people",
    "plan": "versadp.cli.plan:plan",
    "rehearse": "versadp.cli.rehearse:rehearse",
    "release": "versadp.cli.release:release",
    "report": "versadp.cli.report:report",
    "schema": "versadp.cli.schema:schema",
    "sign": "versadp.cli.sign:sign",
    "table": "versadp.cli.table:table",
    "upload": "versadp.cli.upload:upload",
}


class _Commands(click.Group):
    """Commands that are imported when they are called, so that `versadp --help` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted([*_COMMANDS, *(point.name for point in entry_points(group="versadp.commands"))])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        if cmd_name in _COMMANDS:
            module, name = _COMMANDS[cmd_name].split(":")
            command: click.Command = getattr(import_module(module), name)
            return command
        found = entry_points(group="versadp.commands", name=cmd_name)
        return next(iter(found)).load() if found else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the sources of their modules, of which none is imported."""
        names = self.list_commands(ctx)
        limit = formatter.width - 6 - max(map(len, names))
        places = _COMMANDS | {point.name: point.value for point in entry_points(group="versadp.commands")}
        rows = [(name, click.Command(name, help=_docstring(places[name])).get_short_help_str(limit)) for name in names]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        """Show what the user can mend in one line, without a traceback; what is quiet writes to no error stream."""
        try:
            with redirect_stderr(StringIO()) if ctx.params.get("quiet") else nullcontext(), _fitted():
                return super().invoke(ctx)
        except VersadpError as problem:
            if ctx.params.get("verbose"):
                raise
            click.echo(f"versadp: {problem}", err=True)
            sys.exit(2)


def _docstring(place: str) -> str:
    """Return the docstring of a function, "module:function", read from its source.

    Examples
    --------
    >>> _docstring("versadp.cli.main:_for_people")
    ''
    >>> _docstring("versadp.cli.sign:sign").splitlines()[0]
    'Sign the release in DIR with the key of its state folder, and print the public key.'
    """
    module, name = place.split(":")
    found = find_spec(module)
    if found is None or found.origin is None:
        return ""
    tree = ast.parse(Path(found.origin).read_text(encoding="utf-8"))
    of_name = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    return next((ast.get_docstring(node) or "" for node in of_name), "")


@contextmanager
def _fitted() -> Iterator[None]:
    """Fit what people read into the width of the terminal, if there is one; JSON, CSV and schemas stay as they are."""
    if not sys.stdout.isatty():
        yield
        return
    narrow = Narrow(sys.stdout, get_terminal_size().columns, _for_people)
    try:
        with redirect_stdout(narrow):
            yield
    finally:
        narrow.close_paragraph()


def _for_people() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and (context.params.get("style") == "text" or context.info_name == "demo")


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="versadp")
@click.option("-q", "--quiet", is_flag=True, help="No progress bars and notes; errors are still told.")
@click.option("-v", "--verbose", is_flag=True, help="The whole traceback of an error.")
def main(quiet: bool, verbose: bool) -> None:
    """Privatise once, learn anything: release data with differential privacy, and learn from what was released."""
