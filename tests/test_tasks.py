"""Every registered task keeps the same promises."""

import re
import runpy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from genelab.core.config import to_dict
from genelab.core.overrides import leaves
from genelab.core.registry import find, load, tasks
from genelab.core.stored_config import from_dict
from genelab.core.table import cell
from genelab.envs import ManagerBasedRlEnv
from task_sample import LEARNT

ROOT = Path(__file__).parent.parent
TERMS = ("actions", "commands", "observations", "rewards", "terminations", "events", "curriculum", "metrics")
"""Parts of a config whose numbers make up the task."""


def make(task: str, play: bool, seed: int = 4) -> ManagerBasedRlEnv:
    cfg = find(task).env_cfg(play=play)
    cfg.num_envs, cfg.simulation.threads = 3, 1
    return ManagerBasedRlEnv(cfg, seed)


@pytest.fixture(scope="module", params=[(task, play) for task in LEARNT for play in (False, True)], ids=str)
def env(request: pytest.FixtureRequest) -> Iterator[ManagerBasedRlEnv]:
    """Three worlds of a task, in training or in play; shared by the tests that follow."""
    made = make(*request.param)
    yield made
    made.close()


def test_every_task_gives_the_same_episode_for_the_same_seed(env: ManagerBasedRlEnv) -> None:
    def episode() -> list[torch.Tensor]:
        start = env.reset(seed=4)
        steps = [env.step(torch.full((3, env.num_actions), 0.1)) for _ in range(5)]
        return [value.clone() for obs in (start, *(step[0] for step in steps)) for value in obs.values()] + [
            step[1] for step in steps
        ]

    assert all(torch.equal(a, b) for a, b in zip(episode(), episode(), strict=True))


def test_every_task_takes_twenty_random_steps(env: ManagerBasedRlEnv) -> None:
    generator = torch.Generator().manual_seed(0)
    dims = {name: group.dim for name, group in env.observation_manager.groups.items()}
    for _ in range(20):
        action = torch.randn(3, env.num_actions, generator=generator)
        obs, rewards, terminated, truncated, extras = env.step(action)
        for tensors in (obs, extras["final_obs"]):
            assert {name: tuple(value.shape) for name, value in tensors.items()} == {n: (3, d) for n, d in dims.items()}
            assert all(value.isfinite().all() and value.dtype == torch.float32 for value in tensors.values())
        assert rewards.shape == terminated.shape == truncated.shape == (3,)
        assert rewards.dtype == torch.float32
        assert rewards.isfinite().all()
        assert terminated.dtype == truncated.dtype == torch.bool
    assert env.failed_worlds == 0


def test_every_task_prints_its_terms(env: ManagerBasedRlEnv) -> None:
    printed = str(env)
    for terms in (env.cfg.actions, env.cfg.commands, env.cfg.rewards, env.cfg.terminations, env.cfg.events):
        assert all(name in printed for name in terms)


@pytest.mark.parametrize("play", [False, True], ids=["train", "play"])
@pytest.mark.parametrize("task", tasks())
def test_every_task_survives_being_stored(task: str, play: bool) -> None:
    cfg = find(task).env_cfg(play=play)
    assert from_dict(type(cfg), to_dict(cfg)) == cfg


@pytest.mark.parametrize("task", LEARNT)
def test_play_differs_from_training_in_what_only_disturbs_or_helps_training(task: str) -> None:
    training, play = find(task).env_cfg(play=False), find(task).env_cfg(play=True)
    for kind in ("actions", "commands", "observations", "rewards", "terminations", "metrics", "success", "goal"):
        assert getattr(play, kind) == getattr(training, kind), kind
    assert set(play.events) <= set(training.events)
    assert play.curriculum == {}


@pytest.mark.parametrize("task", LEARNT)
@pytest.mark.parametrize("preset", ["reference", "cpu"])
def test_every_task_has_both_presets(task: str, preset: str) -> None:
    assert isinstance(find(task).preset(preset), dict)


@pytest.mark.parametrize("task", tasks())
def test_the_docstring_of_a_task_has_no_numbers_of_its_config(task: str) -> None:
    text = load(find(task).env).__doc__
    assert text
    assert not re.search(r"\d", text), "numbers belong to the config, which the tables are made from"


@cache
def task_pages() -> dict[str, str]:
    """Every page of docs/tasks by its path."""
    return runpy.run_path(str(ROOT / "docs/make_pages.py"))["task_pages"]()


def numbers(value: Any) -> list[float]:
    if isinstance(value, tuple | list):
        return [number for item in value for number in numbers(item)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


@pytest.mark.suite
@pytest.mark.parametrize("task", LEARNT)
def test_the_page_of_a_task_has_every_number_of_every_term(task: str) -> None:
    cfg = find(task).env_cfg()
    written = set(re.findall(r"-?\d[\d.]*(?:e[+-]?\d+)?", task_pages()[f"docs/tasks/{task}.md"]))
    for kind in TERMS:
        for leaf in leaves(getattr(cfg, kind), kind):
            unset = leaf.path.endswith((".noise", ".scale"))  # noise of zero and a scale of one are left out
            for number in numbers(leaf.value):
                assert cell(float(number)) in written or (unset and number in (0.0, 1.0)), leaf.path
