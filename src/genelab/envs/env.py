"""The environments: a scene that steps, and the reinforcement-learning loop around it.

One control step of `ManagerBasedRlEnv`, in order: process the action, advance physics by `decimation` steps, count,
sensors, commands, interval events, rewards, terminations, observations of the reached state (these are the true last
observations of episodes that end here), reset of finished worlds, first observations of the new episodes.

A reset, in order:

1. curriculum terms, which still see the state and the command that the episode ended with;
2. the engine: default pose, at rest;
3. reset events, which place and disturb;
4. commands, in the order of the config: each draws its value, then may write the state (`CommandTerm.write_state`),
   so a motion clip starts from its own pose whatever the events did;
5. what reads the new state: sensors, actions, rewards, terminations, metrics and observations;
6. the first observations.

Every draw comes from a named stream, so none depends on this order.
"""

import io
import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from genelab.core.errors import UserError, unknown
from genelab.core.overrides import validate
from genelab.core.ranges import CountOrZero
from genelab.core.rng import Streams
from genelab.core.stored_config import stored
from genelab.core.table import Table
from genelab.core.tensors import one_torch_thread, restore, stored_tensor
from genelab.engines import make_engine
from genelab.engines.pictures import Mark
from genelab.envs import managers
from genelab.envs.cfg import ManagerBasedEnvCfg, ManagerBasedRlEnvCfg
from genelab.envs.entity import Entity
from genelab.envs.episodes import EpisodeStats, FinishedEpisodes
from genelab.envs.goal import Goal
from genelab.envs.managers.base import Manager
from genelab.envs.spawn import Spawn, WorldGroups
from genelab.envs.terms import Term, check_shape
from genelab.scene.scene import Scene
from genelab.sensors import Sensors

_PARTS = ("engine", "streams", "sensors", "episode_stats", "spawn")
"""What of an environment has a state of its own, beside the managers."""


class ManagerBasedEnv:
    """A scene in `num_envs` worlds, advanced in control steps by its playback function. No learning."""

    def __init__(self, cfg: ManagerBasedEnvCfg, seed: int = 0, first_world: int = 0):
        """`first_world`: how many worlds come before these, where others have them."""
        validate({"env": cfg})
        self.cfg, self.num_envs, self.device = cfg, cfg.num_envs, cfg.simulation.device
        if cfg.simulation.gpu and not torch.cuda.is_available():
            raise UserError("env.simulation.gpu is true, but this machine has no CUDA device")
        self.worlds = torch.arange(self.num_envs, device=self.device)
        """(N,) ids of all worlds."""
        self.step_dt = cfg.control_dt
        self.streams = Streams(seed, self.device)
        self.scene = Scene(cfg.scene, cfg.simulation.dt, cfg.simulation)
        cameras = [self.scene.model.camera(i).name for i in range(self.scene.model.ncam)]
        if cfg.camera is not None and cfg.camera not in cameras:
            raise unknown("camera", cfg.camera, cameras)
        sim = cfg.simulation
        self.engine = make_engine(sim.engine, self.scene, cfg.num_envs, device=self.device, threads=sim.threads)
        self.entities = {name: Entity(self.engine, layout) for name, layout in self.scene.entities.items()}
        """Robots and objects by name."""
        self.terrain = None if self.scene.terrain is None else self.scene.terrain.to(self.device)
        self.spawn = Spawn(self.terrain, cfg.num_envs, self.device, first_world)
        self.sensors = Sensors(cfg.scene.sensors, self)
        self.step_count = 0
        """Control steps since the environment was made."""

    @property
    def robot(self) -> Entity:
        """The first robot of the scene."""
        if not self.cfg.scene.robots:
            raise UserError("the scene has no robot (env.scene.robots is empty)")
        return self.entities[next(iter(self.cfg.scene.robots))]

    def height_above_ground(self, points: Tensor) -> Tensor:
        """Height of points (…, 3) over the ground straight below them, metres."""
        return points[..., 2] if self.terrain is None else points[..., 2] - self.terrain.height(points)

    @property
    def world_groups(self) -> WorldGroups | None:
        """Groups of worlds that an evaluation reports separately, if there are any."""
        spread = self.terrain is not None and self.terrain.cfg.spread
        return WorldGroups("level", self.spawn.level) if spread else None

    @torch.no_grad()
    def play_step(self) -> None:
        """Advance one control step of the scene's own playback."""
        if self.cfg.playback is not None:
            self.cfg.playback(self, self.step_count)
        self.engine.step(self.cfg.decimation)
        self.sensors.update()
        self.step_count += 1

    def render(self, env_id: int = 0, width: int = 640, height: int = 480) -> np.ndarray:
        """One RGB frame (height, width, 3) of one world, by the camera the config names."""
        return self.engine.render(env_id, self.cfg.camera, width, height, self.marks(env_id))

    def _repr_png_(self) -> bytes | None:
        """A picture of the first world, where a notebook shows the environment; nothing without OpenGL."""
        from PIL import Image

        try:
            Image.fromarray(self.render()).save(picture := io.BytesIO(), "PNG")
        except UserError:
            return None
        return picture.getvalue()

    def marks(self, env_id: int) -> list[Mark]:
        """What pictures show of one world beside its bodies."""
        return []

    def close(self) -> None:
        self.engine.close()


class ManagerBasedRlEnv(ManagerBasedEnv):
    """A task in `num_envs` worlds, which start new episodes by themselves unless ``auto_reset`` is false."""

    cfg: ManagerBasedRlEnvCfg

    @torch.no_grad()
    def __init__(self, cfg: ManagerBasedRlEnvCfg, seed: int = 0, first_world: int = 0):
        if not cfg.scene.robots:
            raise UserError("a task needs a robot: env.scene.robots is empty")
        super().__init__(cfg, seed, first_world)
        self.max_episode_length = cfg.max_episode_length
        self.episode_length_buf = torch.zeros(self.num_envs, dtype=torch.int64, device=self.device)
        """(N,) control steps of each running episode."""
        self._skipped_steps = torch.zeros_like(self.episode_length_buf)
        """(N,) steps of each running episode that were only pretended, by `randomize_episode_start`."""
        self.terminated = torch.zeros(self.num_envs, dtype=torch.bool, device=self.device)
        self.truncated = torch.zeros_like(self.terminated)
        self.failed_worlds = 0
        """How many times the physics of a world broke down and the world was reset."""
        self.not_finite: str | None = None
        """What was first NaN or infinite, if anything ever was: a term by its name, or the actions."""
        self._no_success = torch.zeros_like(self.terminated)
        self._build_managers()
        # Every term is evaluated once, so that a wrong one is an error here and not in the middle of a run.
        for manager in (self.reward_manager, self.termination_manager, self.metrics_manager):
            manager.check()
        if self._success_term is not None:
            check_shape(self._success_term, self._success_term.checked(), (self.num_envs,), torch.bool)
        self.event_manager.check()
        self.curriculum_manager.check()
        self.streams = Streams(seed, self.device)  # building must not shift the streams of the run
        self.event_manager.startup()
        self.obs = self.reset()

    @property
    def num_actions(self) -> int:
        return self.action_manager.dim

    @torch.no_grad()
    def reset(self, seed: int | None = None, env_ids: Tensor | None = None) -> dict[str, Tensor]:
        """Start new episodes, in every world or in these, and return the observations.

        A seed restarts all streams and, for every world, repeats the start-up events: all is as in a new environment.
        """
        if seed is not None:
            self.streams = Streams(seed, self.device)
            if env_ids is None:
                self.event_manager.startup()
        worlds = self.worlds if env_ids is None else env_ids
        self._reset_worlds(worlds)
        before = self.observation_manager.compute() if env_ids is None else dict(self.obs)
        self.obs = self.observation_manager.compute_first(worlds, before)
        self._note_faults()
        return self.obs

    @one_torch_thread()
    @torch.no_grad()
    def step(self, action: Tensor) -> tuple[dict[str, Tensor], Tensor, Tensor, Tensor, dict[str, Any]]:
        """Advance one control step.

        Returns observations, rewards (N,), terminated (N,), truncated (N,) and extras: ``final_obs``, the last
        observation of the step's episodes before any reset (equal to the observations where nothing ended);
        ``is_success`` where the task defines success; ``finished``, the episodes that ended, or None.
        """
        self.action_manager.process(action)
        self.engine.step(self.cfg.decimation)
        broken = self.engine.failed.nonzero().flatten() if bool(self.engine.failed.any()) else None
        self.failed_worlds += 0 if broken is None else len(broken)
        self.step_count += 1
        self.episode_length_buf += 1
        self.sensors.update()
        self.command_manager.step(self.step_dt)
        self.event_manager.step(self.step_dt)
        rewards = self.reward_manager.compute(broken)
        self.metrics_manager.step()
        self.terminated, self.truncated = self.termination_manager.compute()
        if broken is not None:
            self.terminated[broken], self.truncated[broken] = True, False
        self.obs = self.observation_manager.compute()
        self._note_faults(rewards)
        extras: dict[str, Any] = {"final_obs": self.obs, "finished": None}
        ended = self.terminated | self.truncated
        done = ended.nonzero().flatten()
        if self._success_term is not None:
            extras["is_success"] = self._success_term() & ended if len(done) else self._no_success
        if len(done):
            extras["finished"] = self._finish(done, extras.get("is_success"))
            if self.cfg.auto_reset:
                self.reset(env_ids=done)
        return self.obs, rewards, self.terminated, self.truncated, extras

    def marks(self, env_id: int) -> list[Mark]:
        """The present commands, as far as they can be seen."""
        return [mark for term in self.command_manager.terms.values() for mark in term.marks(env_id)]

    def require_auto_reset(self, asked_by: str) -> None:
        """Raise unless worlds start new episodes by themselves."""
        if not self.cfg.auto_reset:
            need = f"{asked_by} needs worlds that start new episodes by themselves"
            raise UserError(f"env.auto_reset is false, but {need}")

    def randomize_episode_start(self) -> None:
        """Pretend that the worlds are at different points of their episodes, so that they do not end all at once."""
        self._skipped_steps = self.streams.integers("episode_start", (self.num_envs,), 0, self.max_episode_length - 1)
        self.episode_length_buf.copy_(self._skipped_steps)

    def success(self) -> Tensor:
        """Where the task is done now; nowhere if it does not say when that is.  (N,)"""
        return self._no_success if self._success_term is None else self._success_term()

    def pop_episode_stats(self) -> dict[str, float]:
        """Means over the episodes that ended since the last call, plus curriculum values and broken worlds."""
        stats = self.episode_stats.pop()
        stats |= {f"curriculum/{name}": value for name, value in self.curriculum_manager.values.items()}
        stats["failed_worlds"] = float(self.failed_worlds)
        return stats

    def tables(self) -> list[Table]:
        """What each manager consists of; managers without terms are left out."""
        order = ("observation", "action", "command", "reward", "termination", "event", "curriculum", "metrics")
        owners = (self.sensors, *(self._managers[name] for name in order))
        return [table for owner in owners for table in owner.tables() if table.rows]

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.tables()))

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue exactly from between two control steps."""
        return {
            **{name: getattr(self, name).state_dict() for name in _PARTS},
            "managers": {name: manager.state_dict() for name, manager in self._managers.items()},
            "episode_length_buf": self.episode_length_buf.clone(),
            "skipped_steps": self._skipped_steps.clone(),
            "obs": {name: value.clone() for name, value in self.obs.items()},
            "encoder_bias": {name: entity.encoder_bias for name, entity in self.entities.items()},
            "step_count": self.step_count,
            "failed_worlds": self.failed_worlds,
        }

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from where `state_dict` was taken."""
        for name in _PARTS:
            getattr(self, name).load_state_dict(state[name])
        for name, manager in self._managers.items():
            manager.load_state_dict(state["managers"][name])
        restore(self.episode_length_buf, state, "episode_length_buf")
        restore(self._skipped_steps, state, "skipped_steps")
        for name, value in self.obs.items():
            self.obs[name] = stored_tensor(state["obs"], name, value.shape, value.dtype).to(self.device)
        for name, entity in self.entities.items():
            bias, shape = state["encoder_bias"], (self.num_envs, len(entity.joint_names))
            entity.encoder_bias = None if bias[name] is None else stored_tensor(bias, name, shape).to(self.device)
        self.step_count = stored(state, "step_count", CountOrZero)
        self.failed_worlds = stored(state, "failed_worlds", CountOrZero)

    def _build_managers(self) -> None:
        cfg = self.cfg
        self.action_manager = managers.ActionManager(cfg.actions, self)
        self.command_manager = managers.CommandManager(cfg.commands, self)
        self.event_manager = managers.EventManager(cfg.events, self)
        self.curriculum_manager = managers.CurriculumManager(cfg.curriculum, self)
        self.reward_manager = managers.RewardManager(cfg.rewards, self)
        self.termination_manager = managers.TerminationManager(cfg.terminations, self)
        self.metrics_manager = managers.MetricsManager(cfg.metrics, self)
        self._success_term = Term("success", "success", cfg.success, self) if cfg.success is not None else None
        self.command_manager.reset(self.worlds)
        self.observation_manager = managers.ObservationManager(cfg.observations, self)
        self.goal = None if cfg.goal is None else Goal(cfg.goal, self)
        """What a goal-conditioned task strives for; None in other tasks."""
        names = ("action", "command", "event", "curriculum", "reward", "termination", "metrics", "observation")
        self._managers: dict[str, Manager] = {name: getattr(self, f"{name}_manager") for name in names}
        self.episode_stats = EpisodeStats(list(cfg.rewards), list(cfg.metrics), list(cfg.terminations), self.device)

    def _reset_worlds(self, env_ids: Tensor) -> None:
        """Steps 1 to 5 of a reset; see the module's docstring."""
        self.curriculum_manager.reset(env_ids)
        self.engine.reset(env_ids)
        self.episode_length_buf.index_fill_(0, env_ids, 0)
        self._skipped_steps.index_fill_(0, env_ids, 0)
        self.event_manager.reset(env_ids)
        self.command_manager.reset(env_ids)
        self.sensors.reset(env_ids)
        for name in ("action", "reward", "termination", "metrics", "observation"):
            self._managers[name].reset(env_ids)

    def _note_faults(self, rewards: Tensor | None = None) -> None:
        """Remember the first term that is not finite. Training stops for it; who only steps is left to go on."""
        seen = self.obs.values() if rewards is None else (rewards, *self.obs.values())
        # The sum is cheap to ask for in every step. Large values may overflow in it although each is finite.
        if self.not_finite is None and not math.isfinite(float(sum(part.sum() for part in seen))):
            self.not_finite = self._find_fault(rewards is not None)

    def _find_fault(self, rewards: bool) -> str | None:
        """What is NaN or infinite, in words: the actions, else a reward term if `rewards`, else an observation term."""
        if not bool(self.action_manager.action.isfinite().all()):
            return "the policy's actions"
        if rewards and (name := self.reward_manager.not_finite()) is not None:
            return f"reward term '{name}'"
        for group in self.observation_manager.groups.values():
            bad = (~self.obs[group.name].isfinite()).flatten(1).any(dim=0).nonzero()
            if len(bad):
                return f"observation term '{group.name}.{group.term_at(int(bad[0]))}'"
        return None

    def _finish(self, done: Tensor, success: Tensor | None) -> FinishedEpisodes:
        lengths = self.episode_length_buf[done] - self._skipped_steps[done]
        terms = self.reward_manager.episode_sums.index_select(1, done)
        finished = FinishedEpisodes(
            env_ids=done,
            returns=terms.sum(dim=0),
            lengths=lengths,
            reward_terms=terms,
            metrics=self.metrics_manager.episode_sums.index_select(1, done) / lengths.clamp(min=1),
            terminations=self.termination_manager.fired.index_select(1, done),
            success=None if success is None else success[done],
        )
        self.episode_stats.add(finished)
        return finished
