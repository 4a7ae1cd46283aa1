"""Playback: a policy, or a scene of its own accord, with a window, a page, a video, or nothing to look at."""

import cProfile
import pstats
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from genelab.core.config import flatten, to_dict
from genelab.core.errors import UserError
from genelab.core.registry import find
from genelab.core.table import Table
from genelab.envs import ManagerBasedEnv, ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.experiment.collect import demonstrator
from genelab.experiment.console import progress
from genelab.experiment.inference import Say, find_checkpoint, load_policy, resolve_policy
from genelab.experiment.setup import Setup, of_the_policy, resolve
from genelab.experiment.video import HEIGHT, WIDTH, VideoWriter
from genelab.rl.backends.base import Policy
from genelab.rl.evaluator import RandomPolicy
from genelab.viewer.native import NativeViewer
from genelab.viewer.server import PageServer
from genelab.viewer.session import Session
from genelab.viewer.web import Curves, WebViewer


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
    page: PageServer | None = None
    """Shows the worlds if ``env.simulation.vis`` is true; None: a window does."""
    prof: bool = False


class ZeroPolicy(Policy):
    """Does nothing."""

    def __init__(self, env: ManagerBasedRlEnv):
        self._actions = torch.zeros(env.num_envs, env.num_actions, device=env.device)

    def act(self, obs: dict[str, Tensor], deterministic: bool = True) -> Tensor:
        return self._actions


def run_playback(request: PlayRequest, say: Say = print) -> int:
    """Play and return the number of steps."""
    if not isinstance(find(request.task).env_cfg(play=True), ManagerBasedRlEnvCfg):
        return _play_scene(request, say)
    agent = request.agent or ("trained" if request.checkpoint is not None else "zero")
    if request.checkpoint is not None and agent != "trained":
        raise UserError(f"--checkpoint goes with --agent trained, not with --agent {agent}")
    setup, checkpoint = _resolve(request, agent, say)
    if request.num_envs is not None:
        setup.env_cfg.num_envs = request.num_envs
    elif not any(change.path == "env.num_envs" for change in setup.changes):
        setup.env_cfg.num_envs = 1
    env = ManagerBasedRlEnv(setup.env_cfg, seed=request.seed)
    agents: dict[str, Callable[[], Policy]] = {
        "zero": lambda: ZeroPolicy(env),
        "random": lambda: RandomPolicy(env, request.seed),
    }
    if find(request.task).demonstrator is not None or agent == "demonstrator":
        agents["demonstrator"] = lambda: demonstrator(request.task)(env)
    if checkpoint is not None:
        agents["trained"] = lambda: load_policy(env, checkpoint)
    steps = show(Session(env, agents, agent, lambda name: _load(name, env, request)), request, say)
    if returns := env.episode_stats.returns:
        say(f"{len(returns)} episodes ended, return_mean {sum(returns) / len(returns):.2f}")
    return steps


def _resolve(request: PlayRequest, agent: str, say: Say) -> tuple[Setup, dict[str, Any] | None]:
    """Configs, and the trained policy's checkpoint if there is one: its worlds serve all agents of a page."""
    if agent == "trained" or request.page is not None:
        try:
            path = request.checkpoint or find_checkpoint(None, request.task, say)
            return resolve_policy(request.task, path, request.overrides, say=say)
        except UserError as error:
            if agent == "trained":
                raise
            say(f"no trained agent: {error}")
    task, unused = request.task, {"agent": f"the {agent} agent has no networks and learns nothing"}
    return resolve(task, play=True, preset="reference", overrides=request.overrides, unused=unused, say=say), None


def _load(name: str, env: ManagerBasedRlEnv, request: PlayRequest) -> Policy:
    """The policy of a file, if it was trained in worlds like these."""
    path = find_checkpoint(name, request.task, say=print)
    setup, checkpoint = resolve_policy(request.task, path, request.overrides, say=lambda _: None)
    ours, theirs = (flatten(to_dict(cfg), "env") for cfg in (env.cfg, setup.env_cfg))
    for key in sorted({*ours, *theirs}):
        if ours.get(key) != theirs.get(key) and of_the_policy(key):
            raise UserError(f"'{name}' needs {key} {theirs.get(key)}, not {ours.get(key)}: play it with --checkpoint")
    return load_policy(env, checkpoint)


def _play_scene(request: PlayRequest, say: Say) -> int:
    setup = resolve(request.task, play=True, preset="reference", overrides=request.overrides, say=say)
    ignored = {"--agent": request.agent, "--checkpoint": request.checkpoint, "--num-envs": request.num_envs}
    for flag, value in {**ignored, "--prof": request.prof or None}.items():
        if value is not None:
            say(f"warning: {flag} is ignored: '{request.task}' is a scene that plays itself, without a policy")
    return show(Session(ManagerBasedEnv(setup.env_cfg, seed=request.seed)), replace(request, prof=False), say)


def show(session: Session, request: PlayRequest, say: Say, curves: Curves = dict) -> int:
    """Step until the length is reached or the viewer is closed; returns the number of steps."""
    env, limit, page, viewer = session.env, request.max_steps, request.page, None
    if env.cfg.simulation.vis:
        viewer = NativeViewer(env, realtime=True) if page is None else WebViewer(session, page, curves)
    elif limit is None:
        limit = env.cfg.simulation.steps
    if session.rl is not None:
        session.prepare()
    video = VideoWriter(request.video, env.step_dt) if request.video is not None else None
    shown = nullcontext() if limit is None else progress("play", limit, "step")
    profile = cProfile.Profile() if request.prof else None
    try:
        with shown as row, profile or nullcontext():
            while (limit is None or session.steps < limit) and (viewer is None or viewer.running):
                if video is not None:
                    video.film(lambda: env.render(0, WIDTH, HEIGHT))
                session.advance()
                if viewer is not None:
                    viewer.sync()
                if row is not None:
                    row.update(session.steps)
    except KeyboardInterrupt:
        if page is None:  # Ctrl-C is the way to end a page
            raise
    finally:
        for opened in (viewer, video, env):
            if opened is not None:
                opened.close()
    say(f"played {session.steps} steps ({session.steps * env.step_dt:.1f} s) in {env.num_envs} worlds")
    if request.video is not None:
        say(f"video: {request.video}")
    if profile is not None:
        say(str(_profile_table(profile, session.steps)))
    return session.steps


def _profile_table(profile: cProfile.Profile, steps: int) -> Table:
    """Where the time went: the functions that took longest, with all that they called."""
    stats: dict[Any, Any] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    longest = sorted(stats.items(), key=lambda item: -item[1][3])[:20]
    rows = [
        (f"{Path(file).stem}.{name}", calls, f"{own:.3f}", f"{total:.3f}", f"{1e3 * total / max(1, steps):.3f}")
        for (file, _, name), (_, calls, own, total, _) in longest
    ]
    return Table(("function", "calls", "own s", "total s", "ms per step"), rows, "profile")
