"""The terminal: examples in every help, quiet and verbose, colours only where they are wanted."""

import click
import pytest
from click.testing import CliRunner

import versadp as vdp
from versadp.cli import main


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


def test_no_color(monkeypatch):
    from rich.console import Console

    monkeypatch.setenv("NO_COLOR", "1")
    assert Console(stderr=True, force_terminal=True).no_color
