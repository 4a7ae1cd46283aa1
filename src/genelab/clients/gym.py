"""Tasks as gymnasium environments.

    import gymnasium, genelab
    envs = gymnasium.make_vec("genelab/GeneLab-Inverted-Pendulum-v0", num_envs=16)
    env = gymnasium.make("genelab/GeneLab-Inverted-Pendulum-v0")

Observations are the ``policy`` group, actions nominally lie in [-1, 1], both as float32 numpy arrays. Observations of
goal-conditioned tasks are dicts of ``observation``, ``achieved_goal`` and ``desired_goal``, and their environments have
``compute_reward(achieved_goal, desired_goal, info)``.

Keyword arguments: `play` for the environment of play and eval, `preset` for a preset of the task, `overrides` for a
dict of config paths, e.g. ``{"env.rewards.alive.weight": 2}``. An environment that is reset without a seed draws a
fresh one; ``info["seed"]`` says which.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from torch import Tensor

from genelab.core.errors import UserError, lookup, require_known
from genelab.envs.cfg import ManagerBasedRlEnvCfg
from genelab.envs.env import ManagerBasedRlEnv
from genelab.experiment.setup import resolve

GROUP = "policy"
RESET_MASK = "reset_mask"
Observation = np.ndarray | dict[str, np.ndarray]
Overrides = Mapping[str, Any]
Infos = dict[str, Any]
Seeds = int | Sequence[int | None] | None
_NOT_HERE = {
    "agent": "a gymnasium environment has no agent",
    "env.num_envs": "the number of worlds is the argument num_envs of make_vec",
    "env.simulation.steps": "a gymnasium environment plays nothing back",
    "env.simulation.vis": "frames come from render_mode='rgb_array'",
}


def make(
    task: str,
    play: bool = False,
    preset: str = "reference",
    overrides: Overrides | None = None,
    render_mode: str | None = None,
) -> "GymEnv":
    """One world of a task: what ``gymnasium.make`` calls."""
    cfg = _config(task, 1, play, preset, overrides)
    return (GymEnv if cfg.goal is None else GymGoalEnv)(cfg, render_mode)


def make_vector(
    task: str,
    num_envs: int = 1,
    play: bool = False,
    preset: str = "reference",
    overrides: Overrides | None = None,
    autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
    render_mode: str | None = None,
) -> "GymVectorEnv":
    """All worlds of a task: what ``gymnasium.make_vec`` calls."""
    cfg = _config(task, num_envs, play, preset, overrides)
    return (GymVectorEnv if cfg.goal is None else GymGoalVectorEnv)(cfg, autoreset_mode, render_mode)


class GymVectorEnv(VectorEnv):
    """All worlds of one environment.

    Worlds reset in the step in which their episode ends (``SAME_STEP``), in the step after it, whose action is ignored
    (``NEXT_STEP``), or when ``reset(options={"reset_mask": …})`` asks for it (``DISABLED``, also with
    ``env.auto_reset`` false).
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(
        self,
        cfg: ManagerBasedRlEnvCfg,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        render_mode: str | None = None,
    ):
        mode = autoreset_mode
        if isinstance(mode, str):
            mode = lookup("autoreset_mode", mode, AutoresetMode.__members__)
        if mode is AutoresetMode.SAME_STEP and not cfg.auto_reset:
            mode = AutoresetMode.DISABLED
        cfg.auto_reset = mode is AutoresetMode.SAME_STEP
        self.env, self._seed, self._mode = ManagerBasedRlEnv(cfg), _Seed(), mode
        self.metadata = {**self.metadata, "autoreset_mode": mode, "render_fps": round(1.0 / self.env.step_dt)}
        self.num_envs, self.render_mode = cfg.num_envs, render_mode
        self.single_observation_space, self.single_action_space = _spaces(self.env)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._ended = torch.zeros(self.num_envs, dtype=torch.bool, device=self.env.device)

    def reset(self, *, seed: Seeds = None, options: Infos | None = None) -> tuple[Observation, Infos]:
        """Start new episodes, or those of the option ``reset_mask``. Seeds of worlds become one, which fixes all."""
        for name in options or {}:
            require_known("option of reset", name, [RESET_MASK])
        mask = (options or {}).get(RESET_MASK)
        chosen = None if mask is None else self._worlds(mask)
        if (drawn := self._seed.next(self._one_seed(seed))) is not None:
            self._np_random, self._np_random_seed = seeding.np_random(drawn)
        self._ended[slice(None) if chosen is None else chosen] = False
        obs = _observe(self.env, self.env.reset(seed=drawn, env_ids=chosen))
        return obs, {"seed": np.full(self.num_envs, self._seed.value), "_seed": np.ones(self.num_envs, dtype=bool)}

    def step(self, actions: np.ndarray) -> tuple[Observation, np.ndarray, np.ndarray, np.ndarray, Infos]:
        self._seed.require("step")
        obs, rewards, terminated, truncated, extras = self.env.step(_tensor(actions, self.env))
        success = extras.get("is_success")
        if self._mode is AutoresetMode.NEXT_STEP:
            if bool(self._ended.any()):
                # These worlds' episodes ended a step ago: this step is their reset.
                obs = self.env.reset(env_ids=self._ended.nonzero().flatten())
                going_on = ~self._ended
                rewards = rewards * going_on
                terminated, truncated = terminated & going_on, truncated & going_on
                success = None if success is None else success & going_on
            self._ended = terminated | truncated
        infos: Infos = {}
        done = (terminated | truncated).cpu().numpy()
        if done.any() and self._mode is AutoresetMode.SAME_STEP:
            infos["final_obs"] = _rows(self.env, extras["final_obs"], done)
            infos["_final_obs"] = done
        if success is not None:
            infos["is_success"] = _numpy(success)
        return _observe(self.env, obs), _numpy(rewards), _numpy(terminated), _numpy(truncated), infos

    def render(self) -> tuple[Any, ...] | None:
        """One frame per world."""
        return None if self.render_mode is None else tuple(self.env.render(i) for i in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        self.env.close()

    def _one_seed(self, seed: Seeds) -> int | None:
        if seed is None or isinstance(seed, int | np.integer):
            return None if seed is None else int(seed)
        given = [int(value) for value in seed if value is not None]
        if not given:
            return None
        if len(given) != self.num_envs:
            raise UserError(f"{len(given)} seeds for {self.num_envs} worlds: give one for each, or one for all")
        return int(np.random.SeedSequence(given).generate_state(1)[0])

    def _worlds(self, mask: Any) -> Tensor:
        chosen = np.asarray(mask)
        if chosen.shape != (self.num_envs,) or chosen.dtype != np.bool_:
            raise UserError(f"{RESET_MASK} must be {self.num_envs} booleans, not {chosen.dtype} of {chosen.shape}")
        self._seed.require("a reset of some worlds")
        return torch.as_tensor(chosen, device=self.env.device).nonzero().flatten()


class GymEnv(gymnasium.Env):
    """One world."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self, cfg: ManagerBasedRlEnvCfg, render_mode: str | None = None):
        self.env, self._seed = ManagerBasedRlEnv(cfg), _Seed()
        self.metadata = {**self.metadata, "render_fps": round(1.0 / self.env.step_dt)}
        self.render_mode = render_mode
        self.observation_space, self.action_space = _spaces(self.env)

    def reset(self, *, seed: int | None = None, options: Infos | None = None) -> tuple[Observation, Infos]:
        """Start a new episode. There are no options."""
        for name in options or {}:
            raise UserError(f"reset has no option '{name}': an episode of one world always starts as the task says")
        drawn = self._seed.next(seed)
        super().reset(seed=drawn)
        return _world(_observe(self.env, self.env.reset(seed=drawn)), 0), {"seed": self._seed.value}

    def step(self, action: np.ndarray) -> tuple[Observation, float, bool, bool, Infos]:
        """Advance one control step. At the end of an episode this returns its last observation; then call reset."""
        self._seed.require("step")
        _, rewards, terminated, truncated, extras = self.env.step(_tensor(action, self.env).unsqueeze(0))
        info = {"is_success": bool(extras["is_success"][0])} if "is_success" in extras else {}
        last = _world(_observe(self.env, extras["final_obs"]), 0)
        return last, float(rewards[0]), bool(terminated[0]), bool(truncated[0]), info

    def render(self) -> np.ndarray | None:  # type: ignore[override]
        return None if self.render_mode is None else self.env.render(0)

    def close(self) -> None:
        self.env.close()


class _ComputesReward:
    """What environments of goal-conditioned tasks have besides. Others must not: libraries tell by its presence."""

    env: ManagerBasedRlEnv

    def compute_reward(self, achieved_goal: np.ndarray, desired_goal: np.ndarray, info: Any) -> np.ndarray:
        """Rewards (…,) for reaching goals (…, d) when others were asked for."""
        goal = self.env.goal
        assert goal is not None
        return _numpy(goal.reward(_tensor(achieved_goal, self.env), _tensor(desired_goal, self.env)))


class GymGoalEnv(_ComputesReward, GymEnv):
    """One world of a goal-conditioned task."""


class GymGoalVectorEnv(_ComputesReward, GymVectorEnv):
    """All worlds of a goal-conditioned task."""


class _Seed:
    """The seed of an environment: the last one given, or a fresh one for a first reset without any."""

    def __init__(self) -> None:
        self.value: int | None = None

    def next(self, given: int | None) -> int | None:
        """What a reset has to start the random streams with; None: they go on."""
        if given is None and self.value is not None:
            return None
        self.value = int(np.random.SeedSequence().generate_state(1)[0]) if given is None else int(given)
        return self.value

    def require(self, method: str) -> None:
        """Raise before the first reset, as gymnasium's own wrapper would."""
        if self.value is None:
            raise gymnasium.error.ResetNeeded(f"call reset before {method}")


def _config(task: str, num_envs: int, play: bool, preset: str, overrides: Overrides | None) -> ManagerBasedRlEnvCfg:
    setup = resolve(task, play=play, preset=preset, overrides=list((overrides or {}).items()), unused=_NOT_HERE)
    if not isinstance(setup.env_cfg, ManagerBasedRlEnvCfg):
        raise UserError(f"'{task}' is a scene to play back, not a task to learn")
    setup.env_cfg.num_envs = num_envs
    return setup.env_cfg


def _spaces(env: ManagerBasedRlEnv) -> tuple[gymnasium.Space[Any], gymnasium.spaces.Box]:
    shapes = {name: env.observation_manager.groups[group].shape for name, group in _groups(env).items()}
    boxes: dict[str, Any] = {n: gymnasium.spaces.Box(-np.inf, np.inf, shape, np.float32) for n, shape in shapes.items()}
    observations = boxes["observation"] if env.goal is None else gymnasium.spaces.Dict(boxes)
    return observations, gymnasium.spaces.Box(-1.0, 1.0, (env.num_actions,), np.float32)


def _groups(env: ManagerBasedRlEnv) -> dict[str, str]:
    """The observation groups behind gymnasium's names for the parts of a goal-conditioned observation."""
    goal = {} if env.goal is None else {"achieved_goal": env.goal.achieved, "desired_goal": env.goal.desired}
    return {"observation": GROUP, **goal}


def _observe(env: ManagerBasedRlEnv, obs: dict[str, Tensor]) -> Observation:
    if env.goal is None:
        return _numpy(obs[GROUP])
    return {name: _numpy(obs[group]) for name, group in _groups(env).items()}


def _world(obs: Observation, world: int) -> Observation:
    return {name: part[world] for name, part in obs.items()} if isinstance(obs, dict) else obs[world]


def _tensor(action: Any, env: ManagerBasedRlEnv) -> Tensor:
    return torch.as_tensor(np.asarray(action, dtype=np.float32), device=env.device)


def _numpy(values: Tensor) -> np.ndarray:
    return values.cpu().numpy().copy()


def _rows(env: ManagerBasedRlEnv, obs: dict[str, Tensor], chosen: np.ndarray) -> np.ndarray:
    """The chosen worlds' as an object array with None elsewhere: gymnasium's form for final observations."""
    worlds = np.flatnonzero(chosen)
    picked = torch.from_numpy(worlds).to(env.device)
    few = _observe(env, {group: obs[group][picked] for group in _groups(env).values()})
    rows = np.empty(len(chosen), dtype=object)  # of None
    for row, world in enumerate(worlds.tolist()):
        rows[world] = _world(few, row)
    return rows
