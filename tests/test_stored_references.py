"""What files name is a config class, a term or a builder, or it is refused before it is imported or called."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from genelab.core.errors import UserError
from genelab.core.registry import TaskSpec
from genelab.core.stored_config import from_dict
from genelab.envs import ManagerBasedRlEnvCfg, RewardTermCfg

TASK = "GeneLab-Inverted-Pendulum-v0"

FOREIGN = [
    "os:system",
    "builtins:eval",
    "subprocess:Popen",
    "antigravity:geohash",
    "genelab:cli.main.run",
    "genelab.cli.main:run",
    "genelab.__main__:main",
    "genelab.core.files:write_text",
    "genelab.experiment.train:TrainRequest",
    "genelab.mdp.rewards:torch.save",
    "genelab.mdp.rewards:alive.__globals__",
    "genelab.envs.cfg:RewardTermCfg.__init__",
    "genelab_franka.collect_demos:main",
    "..os:system",
    "os.system",
    ["os:system"],
    7,
    None,
]
"""Things that run something, or are not references at all."""

WRONG_KIND = ["genelab.envs.entity:Entity", "genelab.scene.objects:box", "genelab.rl.rsl_rl.learner:widen"]
"""Things of genelab that fit none of the places below."""


def put(data: Any, path: str, value: Any) -> None:
    """Set what is at a dotted path of nested dicts."""
    *parents, last = path.split("/")
    for name in parents:
        data = data[name]
    data[last] = value


def change_json(path: str) -> Callable[[Path, str, Any], None]:
    def change(run: Path, place: str, value: Any) -> None:
        data = json.loads((run / path).read_text())
        put(data, place, value)
        (run / path).write_text(json.dumps(data))

    return change


def change_tensors(path: str) -> Callable[[Path, str, Any], None]:
    def change(run: Path, place: str, value: Any) -> None:
        data = torch.load(run / path, weights_only=True)
        put(data, place, value)
        torch.save(data, run / path)

    return change


RESUME = ("train", TASK, "--resume", "{run}")
EVAL = ("eval", TASK, "{run}/model_final.pt", "--episodes", "1", "--num-envs", "1")
BEGIN = ("train", TASK, "--checkpoint", "{run}/model_final.pt", "--log-dir", "{run}/new", "--env.num-envs", "4")

PLACES = [
    ("params/env.json", "class", RESUME),
    ("params/env.json", "scene/class", RESUME),
    ("params/env.json", "scene/robots/robot/model", RESUME),
    ("params/env.json", "rewards/alive/func", RESUME),
    ("params/env.json", "actions/cart/class", RESUME),
    ("params/agent.json", "class", RESUME),
    ("params/agent.json", "algorithm/class", RESUME),
    ("run.json", "env_changes/env.rewards.more", RESUME),
    ("run.json", "evaluation", RESUME),
    ("model_final.pt", "infos/agent/class", EVAL),
    ("model_final.pt", "infos/agent/actor/class", BEGIN),
    ("model_final.pt", "infos/env_changes/env.actions.cart", EVAL),
]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Everything that the places above would run."""
    import os

    seen: list[str] = []
    monkeypatch.setattr(os, "system", lambda *_, **__: seen.append("os.system"))
    monkeypatch.setattr("subprocess.Popen.__init__", lambda *_, **__: seen.append("Popen"))
    monkeypatch.setattr("genelab.core.files.write_text", lambda *_, **__: seen.append("write_text"))
    return seen


@pytest.mark.parametrize(("file", "place", "command"), PLACES, ids=lambda value: str(value)[:50])
def test_a_file_cannot_name_what_is_no_part_of_a_config(
    file: str, place: str, command: tuple[str, ...], trained_run: Path, tmp_path: Path, mistake: Any, calls: list[str]
) -> None:
    for name in [*FOREIGN, *WRONG_KIND]:
        run = tmp_path / "run"
        shutil.copytree(trained_run, run)
        value = {"class": name} if place.startswith("infos/env_changes") or file == "run.json" else name
        (change_json if file.endswith(".json") else change_tensors)(file)(run, place, value)
        line = mistake(*(word.format(run=run) for word in command))
        assert str(run / file) in line, line
        shutil.rmtree(run)
    assert calls == []
    assert "antigravity" not in sys.modules
    assert "genelab.__main__" not in sys.modules


def described_reward(func: str) -> dict[str, Any]:
    return {"class": "genelab.envs.cfg:RewardTermCfg", "func": func, "weight": 1.0}


def my_reward(env: Any) -> Any:
    """A term of a user's own."""
    return env


def my_tool(path: str) -> None:
    """No term."""
    Path(path).unlink()


def test_a_term_of_a_package_counts_once_its_task_is_registered(offer: Callable[[TaskSpec], None]) -> None:
    reference = f"{__name__}:my_reward"
    with pytest.raises(UserError, match="is refused"):
        from_dict(Any, described_reward(reference))
    offer(TaskSpec(id="Mine-v0", summary="", env=f"{__name__}:task"))
    assert from_dict(Any, described_reward(reference)) == RewardTermCfg(my_reward, weight=1.0)


def test_a_package_may_be_named_beside_the_task(offer: Callable[[TaskSpec], None]) -> None:
    offer(TaskSpec(id="Mine-v0", summary="", env="genelab.tasks.pendulum.balance:single", packages=(__name__,)))
    assert from_dict(Any, described_reward(f"{__name__}:my_reward")).func is my_reward


@pytest.mark.parametrize("name", ["my_tool", "Path", "shutil.rmtree", "json", "FOREIGN", "nothing"])
def test_of_a_registered_package_only_its_own_terms_count(name: str, offer: Callable[[TaskSpec], None]) -> None:
    offer(TaskSpec(id="Mine-v0", summary="", env=f"{__name__}:task"))
    with pytest.raises(UserError):
        from_dict(Any, described_reward(f"{__name__}:{name}"))


def test_a_config_of_another_kind_does_not_fit() -> None:
    with pytest.raises(UserError, match=r"'genelab.rl.cfg:RslRlPpoCfg' is not a ManagerBasedRlEnvCfg"):
        from_dict(ManagerBasedRlEnvCfg, {"class": "genelab.rl.cfg:RslRlPpoCfg"})


@pytest.mark.parametrize(
    "name", ["../../secret", "../bundled/GeneLab-Inverted-Pendulum-v0", "/etc/passwd", "", ".", "*"]
)
def test_bundled_policies_have_names_and_no_paths(name: str, mistake: Any) -> None:
    line = mistake("eval", TASK, f"bundled:{name}")
    assert f"unknown bundled policy '{name}'" in line


def test_the_nearest_bundled_policy_is_suggested(mistake: Any) -> None:
    assert f"did you mean '{TASK}'?" in mistake("eval", TASK, "bundled:GeneLab-Inverted-Pendulm-v0")
