"""Robots given as MJCF text, and a small task around them."""

import mujoco

from genelab import mdp
from genelab.envs import (
    DoneTermCfg,
    ManagerBasedRlEnv,
    ManagerBasedRlEnvCfg,
    ObservationGroupCfg,
    ObservationTermCfg,
    RewardTermCfg,
)
from genelab.scene.scene import EntityCfg, SceneCfg

TWO_LINKS = """
<mujoco>
  <worldbody>
    <body name="upper" pos="0 0 1">
      <joint name="a" axis="0 1 0"/>
      <geom type="capsule" size=".02" fromto="0 0 0 .3 0 0"/>
      <body name="lower" pos=".3 0 0">
        <joint name="b" axis="0 1 0"/>
        <geom type="capsule" size=".02" fromto="0 0 0 .3 0 0"/>
        <site name="tip" pos=".3 0 0"/>
      </body>
    </body>
  </worldbody>
  <tendon><fixed name="cable"><joint joint="b" coef="1"/></fixed></tendon>
  <actuator>{actuators}</actuator>
</mujoco>
"""


def mjcf(xml: str) -> mujoco.MjSpec:
    return mujoco.MjSpec.from_string(xml)


def entity(xml: str, **cfg) -> EntityCfg:
    return EntityCfg(model=mjcf, params={"xml": xml}, **cfg)


def links(actuators: str) -> EntityCfg:
    return entity(TWO_LINKS.format(actuators=actuators))


def task(scene: SceneCfg, **parts) -> ManagerBasedRlEnvCfg:
    """A task of one reward and one observation around a scene."""
    observation = ObservationTermCfg(mdp.remaining_time)
    defaults = {
        "num_envs": 2,
        "episode_length_s": 1.0,
        "actions": {},
        "observations": {"policy": ObservationGroupCfg(terms={"time": observation})},
        "rewards": {"alive": RewardTermCfg(mdp.alive, weight=1.0)},
        "terminations": {"time_out": DoneTermCfg(mdp.time_out, time_out=True)},
    }
    return ManagerBasedRlEnvCfg(scene=scene, **{**defaults, **parts})


def make(robot: EntityCfg, **parts) -> ManagerBasedRlEnv:
    return ManagerBasedRlEnv(task(SceneCfg(robots={"robot": robot}), **parts))
