"""The terminal: examples in every help, quiet and verbose, colours only where they are wanted."""

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import versadp as vdp
from versadp.cli import main

DOCS = Path(__file__).parents[2] / "docs"


def commands(group=main, path=()):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (*path, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


@pytest.mark.parametrize("path", list(commands()), ids=" ".join)
def test_every_help_has_an_example(path):
    done = CliRunner().invoke(main, [*path, "--help"])
    assert done.exit_code == 0
    assert f"Example: versadp {path[0]}" in " ".join(done.output.split())


@pytest.fixture
def talking(monkeypatch):
    """Put a command in place of `finalize` that writes to both streams, and fails if it is told to."""

    @click.command()
    @click.option("--fail", is_flag=True)
    def talk(fail):
        click.echo("result")
        click.echo("note", err=True)
        if fail:
            raise vdp.errors.ParameterError("wrong")

    monkeypatch.setattr("versadp.cli.finalize.finalize", talk)


@pytest.mark.usefixtures("talking")
def test_quiet():
    loud, quiet = (CliRunner().invoke(main, [*options, "finalize"]) for options in ([], ["--quiet"]))
    assert (loud.stdout, loud.stderr) == ("result\n", "note\n")
    assert (quiet.stdout, quiet.stderr) == ("result\n", "")
    failed = CliRunner().invoke(main, ["-q", "finalize", "--fail"])
    assert (failed.exit_code, failed.stderr) == (2, "versadp: wrong\n")


@pytest.mark.usefixtures("talking")
def test_verbose():
    short, whole = (CliRunner().invoke(main, [*options, "finalize", "--fail"]) for options in ([], ["--verbose"]))
    assert short.exit_code == 2
    assert isinstance(whole.exception, vdp.errors.ParameterError)


def on_a_terminal(script, width=72, **environment):
    """Return what a Python script shows on a terminal of a width."""
    import fcntl
    import pty
    import struct
    import termios

    mine, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    given = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES", "NO_COLOR"}}
    running = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=theirs,
        stderr=theirs,
        stdin=theirs,
        env=given | {"TERM": "xterm-256color"} | environment,
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(mine, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(mine)
    assert running.wait(timeout=60) == 0, shown.decode()
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no terminal to open")
def test_colours_and_the_wish_for_none():
    """A progress bar is coloured on a terminal, and not if NO_COLOR is set."""
    script = "from versadp.display.progress import bar\nwith bar('reading') as tell: tell(0.5)"
    coloured = re.compile(r"\x1b\[[0-9;]*3[0-9]")
    assert coloured.search(on_a_terminal(script))
    without = on_a_terminal(script, NO_COLOR="1")
    assert "reading" in without
    assert not coloured.search(without)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no terminal to open")
def test_tables_fit_the_terminal(tmp_path):
    """A plan for four columns is wider than 72 letters; on a terminal it is folded, in a pipe and as CSV it is not."""
    columns = {name: vdp.Bounded(0, 1) for name in ("age", "income", "visits")}
    (tmp_path / "schema.toml").write_text(vdp.Schema(columns).to_toml())
    command = ["plan", str(tmp_path / "schema.toml"), "--epsilon", "4"]
    script = "from versadp.cli import main; main({!r})"
    piped = CliRunner().invoke(main, command).stdout
    assert max(map(len, piped.splitlines())) > 72
    shown = on_a_terminal(script.format(command))
    assert max(map(len, shown.splitlines())) <= 72
    assert sorted(set(piped.split())) == sorted(set(shown.split()))
    data = on_a_terminal(script.format([*command, "--format", "csv"]))
    assert max(map(len, data.splitlines())) > 72


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell):
    """The line that the page shows gives a script, and what is completed are our commands and options."""
    from click.shell_completion import get_completion_class

    complete = get_completion_class(shell)(main, {}, "versadp", "_VERSADP_COMPLETE")
    assert "_VERSADP_COMPLETE" in complete.source_template % complete.source_vars()
    assert f"_VERSADP_COMPLETE={shell}_source" in (DOCS / "guides" / "terminal.md").read_text(encoding="utf-8")
    assert [each.value for each in complete.get_completions([], "rep")] == ["report", "reproduce"]
    assert "--epsilon" in [each.value for each in complete.get_completions(["release"], "--ep")]


@pytest.mark.parametrize("path", list(commands()), ids=" ".join)
def test_help_fits_eighty_columns(path):
    done = CliRunner().invoke(main, [*path, "--help"], terminal_width=80)
    assert max(map(len, done.output.splitlines())) <= 80


def test_noise_belongs_to_a_target(tmp_path):
    (tmp_path / "schema.toml").write_text(vdp.Schema({"a": vdp.Bounded(0, 1)}).to_toml())
    given = ["release", "none.csv", "--schema", str(tmp_path / "schema.toml"), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(main, [*given, "--scale", "0.5", "--noise", "zil"])
    assert done.exit_code == 2
    assert "--noise is about a target" in done.stderr
