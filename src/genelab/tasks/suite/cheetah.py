"""A planar runner with two legs."""

from functools import partial

import mujoco
import numpy as np
import torch
from mujoco.batch import Batch
from torch import Tensor

from genelab import mdp
from genelab.core.ranges import Count, Positive
from genelab.core.rng import Streams
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg, StatefulTerm
from genelab.tasks.suite.base import suite_model, suite_task


def run(play: bool = False) -> ManagerBasedRlEnvCfg:
    """Run forwards as fast as possible. An episode starts from a random pose that has come to rest on the ground."""
    model = partial(cheetah, mass=14.0)
    seen = {"position": partial(mdp.joint_pos, skip=1), "velocity": mdp.generalized_vel}
    return suite_task(model, play, (0.01, 1), seen, Fast, start=SettledStart, camera="side")


def cheetah(mass: Positive) -> mujoco.MjSpec:
    """The cheetah of dm_control's control suite, with its densities scaled to a mass of so many kg."""
    spec = suite_model("cheetah")
    factor = mass / spec.copy().compile().body_mass.sum()
    for geom in spec.geoms:
        geom.density *= factor
    return spec


class Fast(StatefulTerm):
    """Forward speed of the centre of mass as a part of `speed`, m/s, between 0 and 1.  (N,)

    In a plane, the centre of mass is the root plus one vector that turns with each body. So its speed needs the bodies'
    angles and rates only, at a fifth of the time that all their poses would take.
    """

    def __init__(self, env: ManagerBasedRlEnv, speed: Positive = 10.0):
        model = env.scene.model
        data, turns, arms = mujoco.MjData(model), np.zeros((model.nbody, 3, model.nv)), np.zeros((model.nbody, 3))
        mujoco.mj_forward(model, data)
        for part in range(1, model.nbody):
            mujoco.mj_jacBody(model, data, None, turns[part], part)
            arms[part] += model.body_mass[part] * model.body_ipos[part]
            arms[model.body_parentid[part]] += model.body_subtreemass[part] * model.body_pos[part]
        arms /= model.body_subtreemass[0] * speed
        self._speed = speed
        self._turns, self._x, self._z = map(env.engine.floats, (turns[1:, 1].T, arms[1:, 0], arms[1:, 2]))

    def __call__(self, env: ManagerBasedRlEnv) -> Tensor:
        angles, rates = env.engine.qpos @ self._turns, env.engine.qvel @ self._turns
        swings = rates * (angles.cos() * self._z - angles.sin() * self._x)
        return (env.engine.qvel[:, 0] / self._speed + swings.sum(dim=1)).clamp(0.0, 1.0)


class SettledStart(StatefulTerm):
    """One of so many poses, which began anywhere within the joints' limits and then had so many steps to settle.

    They are made once: settling at every reset would take as long as a fifth of the episode.
    """

    def __init__(self, env: ManagerBasedRlEnv, poses: Count = 128, steps: Count = 200):
        limits = env.robot.joint_limits
        low, high = torch.where(limits.isfinite(), limits, env.robot.default_joint_pos[:, None]).cpu().unbind(dim=1)
        batch = Batch(env.scene.model, poses, env.cfg.simulation.threads)
        draw = Streams(0).uniform("poses", (poses, len(low)))  # the same poses in every environment
        batch.bind("qpos")[:] = (low + (high - low) * draw).numpy()
        batch.step(nstep=steps)
        self._qpos, self._qvel = map(env.engine.floats, (batch.bind("qpos"), batch.bind("qvel")))

    def __call__(self, env: ManagerBasedRlEnv, env_ids: Tensor) -> None:
        chosen = env.streams.integers("event/start", (len(env_ids),), 0, len(self._qpos) - 1)
        env.engine.set_state(env_ids, self._qpos[chosen], self._qvel[chosen])
