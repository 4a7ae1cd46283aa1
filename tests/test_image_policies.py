"""Policies that see images: they train, resume exactly and are exported with their images as inputs of their own."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from torch import Tensor

from genelab.core.registry import TaskSpec, find, register, unregister
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg, ObservationGroupCfg, ObservationTermCfg
from genelab.experiment.train import resume
from genelab.rl.cfg import RslRlCnnModelCfg, RslRlDistributionCfg, RslRlOnPolicyRunnerCfg

TASK = "Test-Camera-v0"


def pole_image(env: ManagerBasedRlEnv, size: int = 9) -> Tensor:
    """A picture of the pole from the side: the nearer a pixel to the tilted line, the brighter.  (N, 1, size, size)"""
    along = torch.linspace(-1.0, 1.0, size, device=env.device)
    angle = env.robot.joint_pos[:, 1].view(-1, 1, 1)
    distance = along.view(1, 1, -1) - 3.0 * angle * (along.view(1, -1, 1) + 1.0)
    return torch.exp(-10.0 * distance.square()).unsqueeze(1)


def camera_task(play: bool = False) -> ManagerBasedRlEnvCfg:
    """The inverted pendulum with a camera; the image is scaled and clipped, and has a history."""
    cfg = find("GeneLab-Inverted-Pendulum-v0").env_cfg(play=play)
    term = ObservationTermCfg(pole_image, noise=0.05, scale=2.0, clip=(0.0, 1.5))
    cfg.observations["camera"] = ObservationGroupCfg(terms={"pole": term}, noise=True, history=2)
    return cfg


def camera_agent() -> RslRlOnPolicyRunnerCfg:
    """Convolutions for the actor; the critic sees no image."""
    return RslRlOnPolicyRunnerCfg(
        num_steps_per_env=8,
        obs_groups={"actor": ("policy", "camera"), "critic": ("critic",)},
        actor=RslRlCnnModelCfg(
            hidden_dims=(16,), channels=(4,), kernel_sizes=(3,), strides=(2,), distribution=RslRlDistributionCfg()
        ),
    )


@pytest.fixture(scope="module", autouse=True)
def task() -> Iterator[None]:
    here = "test_image_policies"
    register(TaskSpec(id=TASK, summary="", env=f"{here}:camera_task", agents={"rsl_rl": f"{here}:camera_agent"}))
    yield
    unregister(TASK)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, train_tiny: Callable[..., Any]) -> Any:
    return train_tiny(tmp_path_factory.mktemp("camera") / "run", TASK, agent__max_iterations=4)


def test_a_policy_that_sees_images_resumes_exactly(
    trained: Any, tmp_path: Path, train_tiny: Callable[..., Any]
) -> None:
    _, result = trained
    train_tiny(tmp_path / "part", TASK, agent__max_iterations=2)
    _, resumed = resume(TASK, tmp_path / "part", [("agent.max_iterations", "4")], say=lambda line: None)
    assert resumed.weights_sha256 == result.weights_sha256


@pytest.mark.parametrize("format", ["torchscript", "onnx"])
def test_an_export_takes_images_beside_the_flat_observation(
    format: str, trained: Any, tmp_path: Path, cli: Callable[..., Any]
) -> None:
    out = tmp_path / ("policy.ts" if format == "torchscript" else "policy.onnx")
    outcome = cli("export", TASK, trained[1].checkpoint, "--format", format, "--out", out)
    assert outcome.code == 0, outcome.err
    metadata = json.loads(Path(f"{out}.metadata.json").read_text())
    assert metadata["self_check"]["max_error"] <= 1e-5
    assert metadata["obs_groups"]["camera"]["shape"] == [2, 9, 9]
    for pair in metadata["golden"]:
        obs = np.array([pair["obs"]], np.float32)
        image = np.array([pair["images"]["camera"]], np.float32)
        if format == "onnx":
            session = onnxruntime.InferenceSession(out.read_bytes(), providers=["CPUExecutionProvider"])
            actions = np.asarray(session.run(None, {"obs": obs, "camera": image})[0])
        else:
            actions = torch.jit.load(str(out))(torch.from_numpy(obs), [torch.from_numpy(image)]).numpy()
        np.testing.assert_allclose(actions[0], pair["actions"], atol=1e-5)


def test_a_network_without_convolutions_refuses_an_image(mistake: Callable[..., str], tmp_path: Path) -> None:
    line = mistake("train", TASK, "--agent.actor", "mlp", "--log-dir", tmp_path / "run")
    assert "agent.actor: The MLP model only supports 1D observations" in line
    assert "camera" in line


def test_a_network_of_images_alone_is_refused(mistake: Callable[..., str], tmp_path: Path) -> None:
    line = mistake("train", TASK, "--agent.obs_groups.actor", "camera", "--log-dir", tmp_path / "run")
    assert "needs a flat observation group too" in line
