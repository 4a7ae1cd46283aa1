"""Make suite.npz: states of the control suite's tasks, with what dm_control's own code observes and rewards in them.

Run once, with an environment of its own, because dm_control does not import beside the MuJoCo that genelab uses:

    python -m venv scratch && scratch/bin/pip install 'dm_control==1.0.50' 'mujoco<4'
    MUJOCO_GL=egl scratch/bin/python tests/data/make_suite.py

Each task has states along an episode of random actions, and a few in which a reward that is mostly zero is not.
"""

from pathlib import Path
from typing import Any

import numpy as np
from dm_control import suite

TASKS = {
    "AcrobotSwingup": ("acrobot", "swingup", 0.01),
    "AcrobotSwingupSparse": ("acrobot", "swingup_sparse", 0.01),
    "BallInCup": ("ball_in_cup", "catch", 0.002),
    "CartpoleBalance": ("cartpole", "balance", 0.01),
    "CartpoleBalanceSparse": ("cartpole", "balance_sparse", 0.01),
    "CartpoleSwingup": ("cartpole", "swingup", 0.01),
    "CartpoleSwingupSparse": ("cartpole", "swingup_sparse", 0.01),
    "CheetahRun": ("cheetah", "run", 0.01),
    "FingerSpin": ("finger", "spin", 0.005),
    "FingerTurnEasy": ("finger", "turn_easy", 0.005),
    "FingerTurnHard": ("finger", "turn_hard", 0.005),
    "FishSwim": ("fish", "swim", 0.002),
    "HopperHop": ("hopper", "hop", 0.005),
    "HopperStand": ("hopper", "stand", 0.005),
    "HumanoidStand": ("humanoid", "stand", 0.005),
    "HumanoidWalk": ("humanoid", "walk", 0.005),
    "HumanoidRun": ("humanoid", "run", 0.005),
    "PendulumSwingup": ("pendulum", "swingup", 0.01),
    "PointMass": ("point_mass", "easy", 0.02),
    "ReacherEasy": ("reacher", "easy", 0.005),
    "ReacherHard": ("reacher", "hard", 0.005),
    "SwimmerSwimmer6": ("swimmer", "swimmer6", 0.003),
    "WalkerRun": ("walker", "run", 0.0025),
    "WalkerStand": ("walker", "stand", 0.0025),
    "WalkerWalk": ("walker", "walk", 0.0025),
}
"""Name here to domain, task and physics time step."""
STEPS = (0, 1, 7, 20, 60, 150)
"""Of the random episode, after which a state is kept."""


def near_goal(domain: str, physics: Any, random: np.random.RandomState) -> None:
    """Change the state, or the target, so that the reward is not zero, or not always."""
    data, named = physics.data, physics.named
    if domain in ("acrobot", "cartpole", "pendulum", "point_mass"):
        data.qpos[:] = random.uniform(-1.0, 1.0, len(data.qpos)) * (0.02 if domain == "point_mass" else 0.3)
        data.qvel[:] = random.uniform(-1.0, 1.0, len(data.qvel))
    elif domain == "ball_in_cup":
        data.qpos[2:] = data.qpos[:2] + random.uniform((-0.03, 0.32), (0.03, 0.38))
    elif domain == "finger":
        named.data.qvel["hinge"] = random.uniform(-25.0, -10.0)
        tip = named.data.site_xpos["tip"]
        named.model.site_pos["target"] = tip + random.uniform(-0.04, 0.04, 3) * [1.0, 0.0, 1.0]
    elif domain in ("fish", "reacher", "swimmer"):
        part, reach = {"fish": ("mouth", 0.08), "reacher": ("finger", 0.03), "swimmer": ("nose", 0.2)}[domain]
        place = named.data.geom_xpos[part] + random.uniform(-reach, reach, 3)
        named.model.geom_pos["target"] = place if domain == "fish" else [*place[:2], named.model.geom_pos["target"][2]]
    else:  # robots that stand, walk and run: nearly upright, on the way
        data.qpos[:] = physics.model.qpos0
        data.qpos[:3] += random.uniform(-0.4, 0.2, 3)
        data.qpos[-4:] += random.uniform(0.05, 0.15, 4)
        data.qvel[:] = random.uniform(-0.5, 0.5, len(data.qvel))
        data.qvel[:2] += random.uniform(0.5, 6.0)


def target_of(physics: Any) -> np.ndarray:
    """Where the target is; zeros in tasks without one."""
    for kind, count in (("geom", physics.model.ngeom), ("site", physics.model.nsite)):
        if "target" in [physics.model.id2name(i, kind) for i in range(count)]:
            return getattr(physics.named.data, f"{kind}_xpos")["target"].copy()
    return np.zeros(3)


def keep(rows: dict[str, list[Any]], env: Any, ctrl: np.ndarray) -> None:
    """Note the present state and what the task makes of it, all computed anew from positions and velocities.

    Rewards and accelerations see the controls; what touch sensors feel is without them, as after a reset.
    """
    data = env.physics.data
    data.qpos[:], data.qvel[:], ctrl = np.float32(data.qpos), np.float32(data.qvel), np.float32(ctrl)  # as stored
    data.ctrl[:] = 0.0
    env.physics.forward()
    observation = env.task.get_observation(env.physics)
    data.ctrl[:] = ctrl
    env.physics.forward()
    rows["qpos"].append(data.qpos.copy())
    rows["qvel"].append(data.qvel.copy())
    rows["qacc"].append(data.qacc.copy())
    rows["ctrl"].append(ctrl)
    rows["target"].append(target_of(env.physics))
    rows["obs"].append(np.concatenate([np.ravel(value) for value in observation.values()]))
    rows["reward"].append(float(env.task.get_reward(env.physics)))


def record(domain: str, task: str, dt: float) -> dict[str, np.ndarray]:
    random = np.random.RandomState(7)
    env = suite.load(domain, task, task_kwargs={"random": 7})
    rows: dict[str, list[Any]] = {name: [] for name in ("qpos", "qvel", "qacc", "ctrl", "target", "obs", "reward")}
    env.reset()
    for step in range(STEPS[-1] + 1):
        action = random.uniform(-1.0, 1.0, env.action_spec().shape)
        if step in STEPS:
            step_size = env.physics.model.opt.timestep
            env.physics.model.opt.timestep = dt
            keep(rows, env, action)
            env.physics.model.opt.timestep = step_size
        env.step(action)
    env.physics.model.opt.timestep = dt
    for _ in range(6):
        near_goal(domain, env.physics, random)
        env.physics.forward()
        keep(rows, env, random.uniform(-1.0, 1.0, env.action_spec().shape))
    return {name: np.array(values, dtype=np.float32) for name, values in rows.items()}


if __name__ == "__main__":
    arrays = {f"{name}/{key}": values for name, setting in TASKS.items() for key, values in record(*setting).items()}
    np.savez_compressed(Path(__file__).with_name("suite.npz"), **arrays)
    for name in TASKS:
        print(name, arrays[f"{name}/obs"].shape, arrays[f"{name}/reward"].round(3))
