"""Every tensor of an environment says which device it is on.

With torch's default device set to ``meta``, a tensor that was made without a device fails when it is first used with
others. So this finds on a machine without CUDA what would fail on CUDA.
"""

from collections.abc import Iterator

import pytest
import torch

from genelab.core.errors import UserError
from genelab.core.registry import find
from genelab.engines import ENGINES
from genelab.engines.capabilities import CAPABILITIES
from genelab.envs import ManagerBasedRlEnv
from task_sample import SAMPLE

ON_CUDA = [
    pytest.param(name, marks=pytest.mark.xdist_group(name))  # compiled kernels are shared within a process
    for name, engine in ENGINES.items()
    if "cuda" in CAPABILITIES[name].devices and engine.installed
]
REFUSED = {("mjwarp", "Genelab-Velocity-Rough-Unitree-Go1-v0")}
"""Robots with shapes that the engine's height fields do not carry."""


@pytest.fixture
def meta_by_default() -> Iterator[None]:
    torch.set_default_device("meta")
    yield
    torch.set_default_device(None)


@pytest.mark.parametrize("engine", ON_CUDA)
@pytest.mark.parametrize("task", [task for task in SAMPLE if "suite" not in find(task).tags])
@pytest.mark.usefixtures("meta_by_default")
def test_no_tensor_is_made_without_a_device(task: str, engine: str) -> None:
    cfg = find(task).env_cfg()
    cfg.num_envs, cfg.simulation.engine = 2, engine
    if cfg.scene.terrain is not None:
        cfg.scene.terrain.rows, cfg.scene.terrain.columns, cfg.scene.terrain.border = 2, ("rough",), 2.0
    if (engine, task) in REFUSED:
        with pytest.raises(UserError, match="on height fields it finds wrong contacts of robot/"):
            ManagerBasedRlEnv(cfg)
        return
    env = ManagerBasedRlEnv(cfg)
    for _ in range(2):
        obs, rewards, *_ = env.step(torch.zeros(2, env.num_actions, device=env.device))
    env.reset(seed=1)
    assert {value.device.type for value in (rewards, *obs.values())} == {"cpu"}
    env.close()
