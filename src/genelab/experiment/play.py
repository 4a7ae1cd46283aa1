"""Playback: a policy, or a scene of its own accord, with a window, a video, or neither."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch

from genelab.core.errors import UserError
from genelab.envs import ManagerBasedEnv, ManagerBasedRlEnv
from genelab.experiment.collect import demonstrator
from genelab.experiment.console import progress
from genelab.experiment.inference import choose_checkpoint, setup_policy
from genelab.experiment.setup import Setup, resolve
from genelab.experiment.video import HEIGHT, WIDTH, VideoWriter
from genelab.experiment.viewer import open_viewer
from genelab.rl.backends.base import Policy
from genelab.rl.evaluator import RandomPolicy


@dataclass(frozen=True)
class PlayRequest:
    """What the user asked to play."""

    task: str
    overrides: list[tuple[str, str]] = field(default_factory=list)
    agent: Literal["zero", "random", "demonstrator", "trained"] | None = None
    checkpoint: Path | None = None
    num_envs: int | None = None
    max_steps: int | None = None
    video: Path | None = None
    seed: int = 0


def run_playback(request: PlayRequest, say: Callable[[str], None] = print) -> int:
    """Play and return the number of steps."""
    agent = request.agent or ("trained" if request.checkpoint is not None else "zero")
    if request.checkpoint is not None and agent != "trained":
        raise UserError(f"--checkpoint goes with --agent trained, not with --agent {agent}")
    if agent == "trained":
        setup, env, step = _trained(request, say)
    else:
        unused = {"agent": f"the {agent} agent has no networks and learns nothing"}
        setup = resolve(request.task, play=True, preset="reference", overrides=request.overrides, unused=unused)
        if not setup.trains:
            return _play_scene(setup, request, say)
        setup.env_cfg.num_envs = _num_envs(setup, request)
        env = ManagerBasedRlEnv(setup.env_cfg, seed=request.seed)
        step = _untrained_step(env, agent, request)
    for change in setup.changes:
        say(str(change))
    steps = _loop(env, step, request, say)
    returns = env.episode_stats.returns
    if returns:
        say(f"{len(returns)} episodes ended, return_mean {sum(returns) / len(returns):.2f}")
    return steps


def _trained(request: PlayRequest, say: Callable[[str], None]) -> tuple[Setup, ManagerBasedRlEnv, Callable[[], Any]]:
    path = request.checkpoint
    if path is None:
        path, which = choose_checkpoint(request.task)
        say(f"checkpoint: {path} ({which})")
    asked = [value for p, value in request.overrides if p.replace("-", "_") == "env.num_envs"]
    num_envs = request.num_envs if request.num_envs is not None else None if asked else 1
    setup, inference, _ = setup_policy(
        request.task, path, request.overrides, seed=request.seed, num_envs=num_envs, say=say
    )
    return setup, inference.env, _policy_step(inference.env, inference.policy)


def _untrained_step(env: ManagerBasedRlEnv, agent: str, request: PlayRequest) -> Callable[[], Any]:
    if agent == "zero":
        return lambda: env.step(torch.zeros(env.num_envs, env.num_actions, device=env.device))
    return _policy_step(env, RandomPolicy(env, request.seed) if agent == "random" else demonstrator(request.task)(env))


def _policy_step(env: ManagerBasedRlEnv, policy: Policy) -> Callable[[], Any]:
    def step() -> None:
        _, _, _, _, extras = env.step(policy.act(env.obs))
        if extras["finished"] is not None:
            policy.reset(extras["finished"].env_ids)

    return step


def _play_scene(setup: Setup, request: PlayRequest, say: Callable[[str], None]) -> int:
    ignored = {"--agent": request.agent, "--checkpoint": request.checkpoint, "--num-envs": request.num_envs}
    for flag, value in ignored.items():
        if value is not None:
            say(f"warning: {flag} is ignored: '{request.task}' is a scene that plays itself, without a policy")
    env = ManagerBasedEnv(setup.env_cfg, seed=request.seed)
    return _loop(env, env.play_step, request, say)


def _num_envs(setup: Setup, request: PlayRequest) -> int:
    """One world unless the user asked for more, by flag or override."""
    if request.num_envs is not None:
        return request.num_envs
    return setup.env_cfg.num_envs if any(c.path == "env.num_envs" for c in setup.changes) else 1


def _loop(env: ManagerBasedEnv, step: Callable[[], Any], request: PlayRequest, say: Callable[[str], None]) -> int:
    """Step until the length is reached or the window is closed."""
    simulation = env.cfg.simulation
    limit = request.max_steps
    if not simulation.vis:
        limit = simulation.steps if limit is None else limit
    viewer = open_viewer(env, realtime=True) if simulation.vis else None
    video = VideoWriter(request.video, env.step_dt) if request.video is not None else None
    shown = nullcontext() if limit is None else progress("play", limit, "step")
    done = 0
    try:
        with shown as row:
            while (limit is None or done < limit) and (viewer is None or viewer.running):
                if video is not None:
                    video.add(env.render(0, WIDTH, HEIGHT)) if video.wants_frame else video.skip()
                step()
                done += 1
                if viewer is not None:
                    viewer.sync()
                if row is not None:
                    row.update(done)
    finally:
        if viewer is not None:
            viewer.close()
        if video is not None:
            video.close()
        env.close()
    say(f"played {done} steps ({done * env.step_dt:.1f} s) in {env.num_envs} worlds")
    if request.video is not None:
        say(f"video: {request.video}")
    return done
