"""What a user needs to write terms of every kind comes from genelab, genelab.envs and genelab.sensors."""

import importlib
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

import genelab as gl
from genelab import mdp
from genelab.envs import index_of, match_joints, owner_of


@dataclass(kw_only=True)
class BangBangActionCfg(gl.ActionTermCfg):
    """Drive joints to one end or the other."""

    joints: str
    reach: float = 0.1

    def build(self, name: str, env: gl.ManagerBasedRlEnv) -> "BangBangAction":
        return BangBangAction(name, self, env)


class BangBangAction(gl.ActionTerm):
    """See `BangBangActionCfg`."""

    cfg: BangBangActionCfg

    def __init__(self, name: str, cfg: BangBangActionCfg, env: gl.ManagerBasedRlEnv):
        joints = match_joints(cfg.joints, owner_of(env, [cfg.joints], None))
        super().__init__(name, cfg, env, dim=len(joints))
        self._columns = index_of(joints, env.device)

    def apply(self, action: Tensor) -> None:
        self.env.engine.ctrl[:, self._columns] = self.cfg.reach * action.sign()


@dataclass(kw_only=True)
class StartCommandCfg(gl.CommandTermCfg):
    """A place where the cart starts and should stay."""

    def build(self, name: str, env: gl.ManagerBasedRlEnv) -> "StartCommand":
        return StartCommand(name, self, env, dim=1)


class StartCommand(gl.CommandTerm):
    """See `StartCommandCfg`."""

    def resample(self, env_ids: Tensor) -> None:
        self.command[env_ids] = self.env.streams.uniform(self.stream, (len(env_ids), 1), -0.2, 0.2)

    def write_state(self, env_ids: Tensor) -> None:
        pos = self.env.robot.joint_pos[env_ids]
        pos[:, :1] = self.command[env_ids]
        self.env.robot.write_joints(env_ids, pos)


@dataclass(kw_only=True)
class SpeedometerCfg(gl.SensorCfg):
    """Joint velocities."""

    def build(self, name: str, host: gl.SensorHost) -> "Speedometer":
        return Speedometer(name, self, host)


class Speedometer(gl.ArraySensor):
    """See `SpeedometerCfg`."""

    @property
    def shape(self) -> tuple[int, ...]:
        return (2,)

    def measure(self) -> Tensor:
        return self.host.engine.qvel.clone()


class Distance(gl.StatefulTerm):
    """How far a joint has come.  (N,)"""

    state = ("_sum",)

    def __init__(self, env: gl.ManagerBasedRlEnv, joint: gl.JointRef):
        self._joint, self._sum = joint, torch.zeros(env.num_envs)

    def __call__(self, env: gl.ManagerBasedRlEnv) -> Tensor:
        self._sum += env.robot.joint_vel[:, self._joint].abs() * env.step_dt
        return self._sum

    def reset(self, env_ids: Tensor) -> None:
        self._sum[env_ids] = 0.0


def kick(env: gl.ManagerBasedRlEnv, env_ids: Tensor, joint: gl.JointRef, speed: float) -> None:
    """Give a joint a speed."""
    velocity = env.robot.joint_vel[env_ids]
    velocity[:, joint] = speed
    env.robot.write_joints(env_ids, vel=velocity)


def test_terms_of_every_kind_are_written_with_public_names_only():
    from genelab.core.registry import find

    cfg = find("GeneLab-Inverted-Pendulum-v0").env_cfg(play=True)
    cfg.num_envs = 2
    cfg.actions = {"cart": BangBangActionCfg(joints="slide")}
    cfg.commands = {"start": StartCommandCfg()}
    cfg.scene.sensors = {"speed": SpeedometerCfg(noise=0.01)}
    cfg.events["kick"] = gl.EventTermCfg(kick, params={"joint": "hinge", "speed": 0.2})
    cfg.metrics = {"distance": gl.MetricTermCfg(Distance, params={"joint": "slide"})}
    cfg.observations["critic"].terms["speed"] = gl.ObservationTermCfg(mdp.sensor_data, params={"sensor": "speed"})
    env = gl.ManagerBasedRlEnv(cfg)
    assert torch.equal(env.robot.joint_pos[:, :1], env.command_manager["start"])
    torch.testing.assert_close(env.robot.joint_vel[:, 1], torch.full((2,), 0.2))
    env.step(torch.full((2, 1), -0.3))
    assert env.engine.ctrl.tolist() == [[pytest.approx(-0.1)]] * 2
    assert float(env.metrics_manager.episode_sums.min()) > 0.0
    torch.testing.assert_close(env.obs["critic"][:, -2:], env.engine.qvel, atol=0.01, rtol=0.0)


@pytest.mark.parametrize("module", ["genelab", "genelab.envs", "genelab.sensors"])
def test_every_public_name_exists(module: str):
    package = importlib.import_module(module)
    assert all(getattr(package, name) is not None for name in package.__all__)
