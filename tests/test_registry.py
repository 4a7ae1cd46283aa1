"""Tasks by name: cheap to list, open to other packages, and helpful about typos."""

import os
import resource
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from genelab.core.errors import UserError
from genelab.core.registry import TaskSpec, find, load, register, tasks

PENDULUMS = {
    "GeneLab-Inverted-Pendulum-v0",
    "GeneLab-Double-Inverted-Pendulum-v0",
    "GeneLab-Inverted-Pendulum-Memory-v0",
}
LIGHT_COMMANDS = [
    ("--help",),
    ("--version",),
    ("list",),
    ("list", "tasks", "--tag", "pendulum"),
    ("list", "robots"),
    ("list", "engines"),
    ("list", "backends"),
    ("info", "--help"),
    ("play", "--help"),
    ("train", "--help"),
    ("eval", "--help"),
]


def with_path(directory: Path) -> dict[str, str]:
    """An environment in which `directory` comes before what is on the path already, such as a source tree."""
    return {"PYTHONPATH": os.pathsep.join((str(directory), os.environ.get("PYTHONPATH", "")))}


def offer_tasks(root: Path, name: str, source: str, target: str = "offer") -> None:
    """Lay out an installed package `name` whose entry point offers tasks."""
    (root / f"{name}.py").write_text(source)
    info = root / f"{name}-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0\n")
    (info / "entry_points.txt").write_text(f"[genelab.tasks]\n{name} = {name}:{target}\n")


GOOD_PACKAGE = """
from genelab.core.registry import TaskSpec

def offer():
    return [
        TaskSpec(
            id="Their-Pendulum-v0",
            summary="A task of another package",
            env="genelab.tasks.pendulum.balance:single",
            agents={"rsl_rl": "genelab.tasks.pendulum.agents:single_ppo"},
        )
    ]
"""


@pytest.mark.parametrize("command", LIGHT_COMMANDS, ids=" ".join)
def test_looking_around_imports_neither_torch_nor_mujoco(command: tuple[str, ...]) -> None:
    script = (
        "import sys; from genelab.cli.main import run\n"
        f"assert run({list(command)!r}) == 0\n"
        "heavy = {'torch', 'mujoco', 'tensordict', 'rsl_rl', 'numpy'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", ["list", "--help"])
def test_looking_around_is_quick(
    command: str, genelab: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    def seconds() -> float:
        """Processor time: wall clock on a shared machine says more about the others."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert genelab(command, cwd=tmp_path).returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(seconds() for _ in range(5)) < 0.5


def test_the_pendulums_are_registered() -> None:
    assert set(tasks()) >= PENDULUMS


def test_tasks_are_sorted_by_name() -> None:
    assert list(tasks()) == sorted(tasks())


@pytest.mark.parametrize("task_id", sorted(PENDULUMS))
def test_every_task_has_a_reference_and_a_cpu_preset(task_id: str) -> None:
    assert find(task_id).preset("reference") == {}
    assert find(task_id).preset("cpu")


def test_tasks_of_an_installed_package_are_listed(
    genelab: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    offer_tasks(tmp_path, "theirs", GOOD_PACKAGE)
    done = genelab("list", cwd=tmp_path, env=with_path(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "Their-Pendulum-v0" in done.stdout
    assert all(task in done.stdout for task in PENDULUMS)


def test_a_task_of_an_installed_package_can_be_played(
    genelab: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    offer_tasks(tmp_path, "theirs", GOOD_PACKAGE)
    done = genelab("play", "Their-Pendulum-v0", "--steps", 3, cwd=tmp_path, env=with_path(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "played 3 steps" in done.stdout


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("import nowhere_to_be_found", "offer"),
        ("", "offer"),
        ("def offer():\n    raise RuntimeError('broken on purpose')", "offer"),
        ("def offer():\n    return [1]", "offer"),
    ],
    ids=["import fails", "function missing", "function raises", "not a task"],
)
def test_a_broken_package_is_a_warning_and_the_other_tasks_are_listed(
    source: str, target: str, genelab: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    offer_tasks(tmp_path, "broken", source, target)
    done = genelab("list", cwd=tmp_path, env=with_path(tmp_path))
    assert done.returncode == 0, done.stderr
    assert all(task in done.stdout for task in PENDULUMS)
    assert "broken:offer" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_package_cannot_replace_a_task_that_exists(
    genelab: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    source = GOOD_PACKAGE.replace("Their-Pendulum-v0", "GeneLab-Inverted-Pendulum-v0")
    offer_tasks(tmp_path, "theirs", source)
    done = genelab("list", cwd=tmp_path, env=with_path(tmp_path))
    assert done.returncode == 0
    assert "registered twice" in done.stderr


def test_loading_the_bundled_tasks_gives_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tasks()


def test_registering_another_task_under_a_taken_name_is_an_error_that_names_both() -> None:
    taken = find("GeneLab-Inverted-Pendulum-v0")
    other = TaskSpec(id=taken.id, summary="", env="elsewhere:env")
    with pytest.raises(UserError, match=r"registered twice, by genelab\.tasks\.\S+:single and elsewhere:env"):
        register(other)
    assert find(taken.id) == taken


def test_registering_the_same_task_again_is_fine() -> None:
    register(find("GeneLab-Inverted-Pendulum-v0"))


@pytest.mark.parametrize(
    "typo",
    [
        "GeneLab-Inverted-Pendulum",
        "genelab-inverted-pendulum-v0",
        "Inverted-Pendulum-v0",
        "GeneLab-Inverted_Pendulum-v0",
    ],
)
def test_an_unknown_task_is_an_error_with_the_nearest_name(typo: str) -> None:
    with pytest.raises(UserError, match="did you mean 'GeneLab-Inverted-Pendulum-v0'"):
        find(typo)


def test_a_name_that_is_near_nothing_lists_what_there_is() -> None:
    with pytest.raises(UserError, match="GeneLab-Inverted-Pendulum-v0"):
        find("#?")


def test_an_unknown_preset_is_an_error_that_lists_the_presets() -> None:
    with pytest.raises(UserError, match="unknown preset") as error:
        find("GeneLab-Inverted-Pendulum-v0").preset("gpu")
    assert "cpu" in str(error.value)


def test_an_unknown_backend_of_a_task_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(UserError, match="did you mean 'rsl_rl'"):
        find("GeneLab-Inverted-Pendulum-v0").agent_cfg("rslrl")


def test_a_task_without_agents_can_not_be_trained() -> None:
    with pytest.raises(UserError, match="can be played, not trained"):
        TaskSpec(id="Scene-v0", summary="", env="a:b").agent_cfg()


@pytest.mark.parametrize(
    "reference", ["nowhere:thing", "genelab.tasks.pendulum.balance:triple", "genelab.tasks.pendulum"]
)
def test_a_reference_that_leads_nowhere_is_an_error_that_names_it(reference: str) -> None:
    with pytest.raises(UserError, match=f"cannot load '{reference}'"):
        load(reference)


def test_a_package_among_the_tasks_is_all_that_a_new_domain_needs(tmp_path: Path, monkeypatch) -> None:
    import genelab.tasks

    domain = tmp_path / "juggling"
    domain.mkdir()
    spec = 'TaskSpec(id="Juggle-v0", summary="Juggle", env="nowhere:juggle")'
    (domain / "__init__.py").write_text(f"from genelab.core.registry import TaskSpec\nTASKS = [{spec}]\n")
    monkeypatch.setattr(genelab.tasks, "__path__", [*genelab.tasks.__path__, str(tmp_path)])
    assert "Juggle-v0" in [spec.id for spec in genelab.tasks.bundled()]
