"""Evaluation by a protocol: a fixed number of episodes from every world, so that short ones are not over-counted."""

import math
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from genelab.core.errors import RunStopped, UserError
from genelab.core.rng import Streams, derive_seed
from genelab.core.stats import summarize
from genelab.core.tensors import is_finite, one_torch_thread
from genelab.envs import ManagerBasedRlEnv
from genelab.envs.episodes import FinishedEpisodes
from genelab.rl.backends.base import Policy


class EvalPlan(NamedTuple):
    """How many worlds run how many episodes each, and together."""

    num_envs: int
    episodes_per_env: int
    episodes: int


def plan(episodes: int, num_envs: int) -> EvalPlan:
    """The smallest equal quota for `episodes` in at most `num_envs` worlds: 100 in 64 are 2 in each of 50 worlds."""
    if episodes < 1 or num_envs < 1:
        raise UserError(f"an evaluation needs at least one episode and one world, not {episodes} and {num_envs}")
    quota = math.ceil(episodes / num_envs)
    worlds = math.ceil(episodes / quota)
    return EvalPlan(worlds, quota, worlds * quota)


class RandomPolicy(Policy):
    """Uniform actions in [-1, 1]: the baseline that a trained policy is compared with."""

    def __init__(self, env: ManagerBasedRlEnv, seed: int):
        self._streams = Streams(seed, env.device)
        self._shape = (env.num_envs, env.num_actions)

    def act(self, obs: dict[str, Tensor], deterministic: bool = True) -> Tensor:
        return self._streams.uniform("random_policy", self._shape, -1.0, 1.0)


@torch.no_grad()
def evaluate(
    env: ManagerBasedRlEnv,
    policy: Policy,
    episodes_per_env: int,
    *,
    seed: int = 0,
    deterministic: bool = True,
    max_steps: int | None = None,
    watch: Callable[[int, float], None] | None = None,
) -> dict[str, Any]:
    """Run `episodes_per_env` episodes in every world; return metrics and per-episode arrays.

    The seed fixes everything: resets, noise and, for a stochastic policy, its samples. The global generator is left
    as it was. `watch` is told the number of episodes so far and their mean return whenever some have ended.
    """
    env.require_auto_reset("an evaluation")
    started = time.perf_counter()
    records = _Records(env, episodes_per_env)
    failed_before = env.failed_worlds
    with one_torch_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive_seed(seed, "evaluation"))
        obs = env.reset(seed=seed)
        policy.reset()
        steps = 0
        while not records.complete and (max_steps is None or steps < max_steps):
            obs, _, _, _, extras = env.step(policy.act(obs, deterministic))
            steps += 1
            if extras["finished"] is not None:
                policy.reset(extras["finished"].env_ids)
                records.add(extras["finished"])
                if watch is not None and records.returns:
                    watch(len(records.returns), sum(records.returns) / len(records.returns))
    if not records.returns:
        raise UserError(f"no episode ended within {steps} steps: raise --max-steps")
    records.require_finite()
    return {
        "num_episodes": len(records.returns),
        "complete": records.complete,
        "metrics": records.metrics(),
        **records.per_group(),
        "episodes": records.arrays(),
        "failed_worlds": env.failed_worlds - failed_before,
        "steps": steps,
        "wall_clock_seconds": round(time.perf_counter() - started, 3),
    }


class _Records:
    """Episodes that count: the first few of each world."""

    def __init__(self, env: ManagerBasedRlEnv, quota: int):
        self._env = env
        self._left = torch.full((env.num_envs,), quota, dtype=torch.int64, device=env.device)
        self.complete = False
        """Every world has run its episodes."""
        self.returns: list[float] = []
        self._columns: dict[str, list[Tensor]] = {}
        """The fields of `FinishedEpisodes`, episodes last."""

    def add(self, finished: FinishedEpisodes) -> None:
        counted = self._left[finished.env_ids] > 0
        self._left[finished.env_ids[counted]] -= 1
        self.complete = not bool(self._left.any())
        self.returns += finished.returns[counted].tolist()
        for name, values in vars(finished).items():
            if values is not None:
                self._columns.setdefault(name, []).append(values[..., counted])

    def require_finite(self) -> None:
        """Raise for the first reward term that was not finite in an episode."""
        for name, values in zip(self._env.cfg.rewards, self._all("reward_terms"), strict=True):
            if not is_finite(values):
                raise RunStopped(f"the return is not finite: reward term '{name}' is not")

    def metrics(self, episodes: list[int] | None = None) -> dict[str, Any]:
        """Means over all recorded episodes, or over those with these indices."""
        chosen = list(range(len(self.returns))) if episodes is None else episodes
        returns = summarize([self.returns[i] for i in chosen])
        lengths = summarize(self._all("lengths")[chosen].tolist())
        successes = self._all("success")[chosen].tolist() if "success" in self._columns else []
        return {
            "return_mean": returns.mean,
            "return_std": returns.std,
            "return_ci95": returns.ci95,
            "length_mean": lengths.mean,
            "length_ci95": lengths.ci95,
            "success_rate": sum(successes) / len(successes) if successes else None,
            "reward_terms": self._means("reward_terms", self._env.cfg.rewards, chosen),
            "task": _with_ratios(self._means("metrics", self._env.cfg.metrics, chosen)),
            "terminations": self._means("terminations", self._env.cfg.terminations, chosen),
        }

    def per_group(self) -> dict[str, list[dict[str, Any]]]:
        """Metrics of each group of worlds that the environment declares, by ``per_`` and the groups' name."""
        groups = self._env.world_groups
        if groups is None:
            return {}
        members: dict[int, list[int]] = {}
        for episode, world in enumerate(self._all("env_ids").tolist()):
            members.setdefault(int(groups.ids[world]), []).append(episode)
        return {
            f"per_{groups.name}": [
                {groups.name: group, "episodes": len(members[group]), **self.metrics(members[group])}
                for group in sorted(members)
            ]
        }

    def arrays(self) -> dict[str, list[Any]]:
        names = {"world": "env_ids", "return": "returns", "length": "lengths", "success": "success"}
        return {name: self._all(field).tolist() for name, field in names.items() if field in self._columns}

    def _all(self, field: str) -> Tensor:
        return torch.cat(self._columns[field], dim=-1)

    def _means(self, field: str, names: Iterable[str], episodes: list[int]) -> dict[str, float]:
        return dict(zip(names, self._all(field)[:, episodes].double().mean(dim=1).tolist(), strict=True))


def _with_ratios(means: dict[str, float]) -> dict[str, float]:
    """Means, and ``X_ratio`` wherever there is an ``achieved_X`` and a ``commanded_X``: a ratio of means."""
    ratios = {}
    for name, achieved in means.items():
        what = name.removeprefix("achieved_")
        if commanded := means.get(f"commanded_{what}"):
            ratios[f"{what}_ratio"] = achieved / commanded
    return means | ratios
