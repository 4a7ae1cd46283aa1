"""The help of every command, and what a shell completes."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import typer

from genelab.cli import campaign, project
from genelab.cli.main import COMMANDS, WITH_OVERRIDES, app

GROUPS = {"campaign": campaign.COMMANDS, "project": project.COMMANDS}
NAMES = [*(name for _, name, _ in COMMANDS), *GROUPS]
ALL = [*NAMES, *(f"{group} {name}" for group, commands in GROUPS.items() for name in commands)]
PANEL = re.compile(r"^╭─ (.+?) ─+╮$", re.MULTILINE)


@pytest.fixture
def help_of(cli: Callable[..., Any]) -> Callable[..., str]:
    """The help as lines of 80 columns."""

    def call(*command: str) -> str:
        outcome = cli(*command, "--help")
        assert outcome.code == 0, outcome.err
        return outcome.out

    return call


def test_the_help_groups_all_commands_in_panels(help_of: Callable[..., str]):
    text = help_of()
    assert PANEL.findall(text) == ["Options", *dict.fromkeys(panel for panel, _, _ in COMMANDS)]
    assert all(re.search(rf"^│ {name} +[A-Z]", text, re.MULTILINE) for name in NAMES)


@pytest.mark.parametrize("name", ALL)
def test_the_help_of_a_command_has_an_example_and_fits_a_screen(name: str, help_of: Callable[..., str]):
    text = help_of(*name.split())
    assert f"Example: genelab {name} " in " ".join(text.split())
    assert len(text.splitlines()) <= 64
    assert max(map(len, text.splitlines())) <= 80
    assert ("--overrides" in text) == (name in WITH_OVERRIDES)


@pytest.mark.parametrize("name", ["", *ALL])
def test_on_a_screen_of_100_columns_help_has_at_most_50_lines(
    name: str, help_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "100")
    lines = help_of(*name.split()).splitlines()
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 100


def test_the_options_of_training_are_grouped(help_of: Callable[..., str]):
    groups = {"Arguments", "Options", "Runs and seeds", "Simulation", "Evaluation during training", "Pictures"}
    assert set(PANEL.findall(help_of("train"))) == groups


@pytest.mark.parametrize("name", ALL)
def test_every_option_is_described_by_a_sentence(name: str):
    command: Any = typer.main.get_command(app)
    for word in name.split():
        command = command.commands[word]
    assert re.fullmatch(r"[A-Z].*\.", command.help.split("\n\n")[0].replace("\n", " "))
    for parameter in command.params:
        assert re.fullmatch(r"[A-Z].*[.)]", parameter.help), f"{parameter.name}: {parameter.help}"


def complete(line: str) -> list[str]:
    """What bash offers at the end of a line."""
    words = line.split(" ")
    asked = {"_GENELAB_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    command = [sys.executable, "-m", "genelab"]
    done = subprocess.run(command, env={**os.environ, **asked}, capture_output=True, text=True, check=False)
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("genelab ex", ["export"]),
        ("genelab info GeneLab-Inverted-Pendulum-v", ["GeneLab-Inverted-Pendulum-v0"]),
        ("genelab train GeneLab-Inverted-Pendulum-v0 --sim muj", ["mujoco"]),
        ("genelab train GeneLab-Inverted-Pendulum-v0 --backend rs", ["rsl_rl"]),
        ("genelab train GeneLab-Inverted-Pendulum-v0 --env.num_envs 3 --eval-ep", ["--eval-episodes"]),
        ("genelab list engi", ["engines"]),
        ("genelab runs --sort ret", ["return"]),
        ("genelab project n", ["new"]),
    ],
)
def test_a_shell_completes_commands_tasks_options_and_names(line: str, offered: list[str]):
    assert complete(line) == offered


def test_completion_can_be_shown_for_a_shell(cli: Callable[..., Any]):
    assert "--install-completion" in cli("--help").out
