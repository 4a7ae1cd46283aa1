"""A task in 40 lines: an arm on a motor points where it is told.  python examples/pointer.py train Pointer-v0"""

import mujoco
import torch

import genelab as gl
from genelab import mdp
from genelab.cli.main import main

ARM = """<mujoco><worldbody><body name="arm" pos="0 0 1"><joint name="turn" axis="0 1 0" damping=".1"/>
<geom type="capsule" size=".02" fromto="0 0 0 0 0 .5" mass=".5" contype="0" conaffinity="0"/></body></worldbody>
<actuator><position name="turn" joint="turn" kp="20" kv="2"/></actuator></mujoco>"""


def model() -> mujoco.MjSpec:
    return mujoco.MjSpec.from_string(ARM)


def pointing(env: gl.ManagerBasedRlEnv, joint: gl.JointRef, width: float = 0.2) -> torch.Tensor:
    """1 when the arm points at the target, falling with the distance.  (N,)"""
    error = env.robot.joint_pos[:, joint] - env.command_manager["target"][:, 0]
    return torch.exp(-(error / width).square())


def env_cfg(play: bool = False) -> gl.ManagerBasedRlEnvCfg:
    """Point the arm at a random angle."""
    observe = gl.ObservationTermCfg
    terms = {"angle": observe(mdp.joint_pos_rel), "rate": observe(mdp.joint_vel, scale=0.1, noise=0.05)}
    terms["target"] = observe(mdp.generated_command, params={"command": "target"})
    return gl.ManagerBasedRlEnvCfg(
        scene=gl.SceneCfg(robots={"robot": gl.EntityCfg(model=model)}, ground=gl.GroundCfg(collide=False)),
        num_envs=256, decimation=4, episode_length_s=2.0,
        actions={"turn": mdp.JointPositionActionCfg()},
        commands={"target": mdp.UniformCommandCfg(low=(-1.0,), high=(1.0,))},
        observations={"policy": gl.ObservationGroupCfg(terms=terms, noise=not play)},
        rewards={"pointing": gl.RewardTermCfg(pointing, weight=1.0, params={"joint": "turn"})},
        terminations={"time_out": gl.DoneTermCfg(mdp.time_out, time_out=True)},
    )  # fmt: skip


def agent_cfg() -> gl.RslRlOnPolicyRunnerCfg:
    return gl.RslRlOnPolicyRunnerCfg(max_iterations=60, obs_groups={"actor": ("policy",), "critic": ("policy",)})


if __name__ == "__main__":
    agents = {"rsl_rl": "__main__:agent_cfg"}
    gl.register(gl.TaskSpec(id="Pointer-v0", summary="Point an arm", env="__main__:env_cfg", agents=agents))
    main()
