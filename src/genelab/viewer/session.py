"""What a page with worlds does, without the page: who acts, how fast, which world is looked at, what it is told to do.

One thread simulates. Whoever presses buttons is in another thread and uses `Session.ask`.
"""

import queue
from collections import deque
from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from genelab.core.errors import UserError
from genelab.envs import ManagerBasedEnv, ManagerBasedRlEnv
from genelab.envs.managers import CommandTerm
from genelab.mdp.events import push_root
from genelab.rl.backends.base import Policy

HISTORY = 250
"""Control steps that plots show."""
PUSH = 1.0
"""Largest velocity of a push, m/s, rad/s for hinges."""

Agents = Mapping[str, Callable[[], Policy]]
"""Who may act, by name, and what makes the policy."""


class Session:
    """An environment, who acts in it, and what a person has set."""

    def __init__(self, env: ManagerBasedEnv, agents: Agents, agent: str, load: Callable[[str], Policy] | None = None):
        """`load` makes the policy of a file; None: there are no files to choose."""
        self.env = env
        self.agents = dict(agents)
        self.agent = agent
        self.load = load
        self.paused = False
        self.speed = 1.0
        """Simulated seconds per second."""
        self.world = 0
        """The world that plots, forces and commands are about."""
        self.follow = True
        """Keep that world's robot in the middle."""
        self.message = ""
        """What the person must know, if anything."""
        self.steps = 0
        """Control steps so far."""
        self.history: deque[tuple[float, list[float], list[float]]] = deque(maxlen=HISTORY)
        """Time, reward terms and actions of the world in the last steps."""
        self.held: dict[str, Tensor] = {}
        """(N, dim) commands given by hand, by name; NaN where the task chooses."""
        self._policy = self.agents[agent]() if self.agents else None
        self._asked: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._single = False

    @property
    def rl(self) -> ManagerBasedRlEnv | None:
        """The environment, if it is one to learn in."""
        return self.env if isinstance(self.env, ManagerBasedRlEnv) else None

    @property
    def waiting(self) -> bool:
        """No step is to be taken now."""
        return self.paused and not self._single

    @property
    def commands(self) -> dict[str, CommandTerm]:
        """The commands that can be given by hand."""
        terms = {} if self.rl is None else self.rl.command_manager.terms
        return {name: term for name, term in terms.items() if term.sliders()}

    def ask(self, change: Callable[[], None]) -> None:
        """Have something done between two steps. The only method for other threads."""
        self._asked.put(change)

    def settle(self) -> None:
        """Do what was asked. What is wrong with it becomes the message."""
        while not self._asked.empty():
            try:
                self._asked.get()()
            except UserError as error:
                self.message = str(error)

    @torch.no_grad()
    def advance(self) -> None:
        """Take one control step."""
        self._single = False
        self.steps += 1
        if self.rl is None or self._policy is None:
            self.env.play_step()
            return
        _, _, _, _, extras = self.rl.step(self._policy.act(self.rl.obs))
        if extras["finished"] is not None:
            self._policy.reset(extras["finished"].env_ids)
        terms, actions = self.rl.reward_manager.values[:, self.world], self.rl.action_manager.action[self.world]
        self.history.append((self.steps * self.env.step_dt, terms.tolist(), actions.tolist()))

    def toggle(self) -> None:
        """Pause, or go on."""
        self.paused = not self.paused

    def single_step(self) -> None:
        """Pause, and take one step."""
        self.paused = self._single = True

    def look_at(self, world: int) -> None:
        """Turn to another world."""
        self.world = world
        self.history.clear()

    def use(self, agent: str) -> None:
        """Let another agent act. The worlds stay as they are."""
        self._policy = self.agents[agent]()
        self.agent, self.message = agent, f"{agent} acts now"

    def use_file(self, path: str) -> None:
        """Let the policy of a file act, which becomes an agent by the file's name."""
        assert self.load is not None
        policy = self.load(path)
        self.agents[path] = lambda: policy
        self.use(path)

    @torch.no_grad()
    def reset(self) -> None:
        """Start new episodes in all worlds."""
        if self.rl is not None:
            self.rl.reset()
        else:
            self.env.engine.reset(torch.arange(self.env.num_envs, device=self.env.device))
            self.env.step_count = 0
        if self._policy is not None:
            self._policy.reset()
        self.history.clear()

    @torch.no_grad()
    def push(self) -> None:
        """Give the robot of the world a random velocity: its root, or its joints if the root is fixed."""
        if self.rl is None:
            raise UserError("a scene that plays itself cannot be pushed")
        robot, world = self.rl.robot, torch.tensor([self.world], device=self.rl.device)
        if robot.layout.free_qpos is not None:
            push_root(self.rl, world, xy=PUSH, yaw=PUSH)
            return
        velocity = robot.joint_vel[world]
        kick = self.rl.streams.uniform("viewer/push", tuple(velocity.shape), -PUSH, PUSH)
        robot.write_joints(world, vel=velocity + kick)

    def command(self, name: str, values: list[float] | None) -> None:
        """Give the world's command by hand, or let the task choose it again from its next draw on."""
        term = self.commands[name]
        held = self.held.setdefault(name, torch.full_like(term.command, torch.nan))
        held[self.world] = torch.nan if values is None else torch.tensor(values, device=held.device)
        term.hold(held)

    def recent(self, rewards: bool) -> tuple[np.ndarray, ...]:
        """The last steps of the world: times, then each reward term, or each number of the action."""
        assert self.rl is not None
        count = len(self.rl.reward_manager.terms) if rewards else self.rl.num_actions
        rows = list(self.history) or [(0.0, [0.0] * count, [0.0] * count)]
        values = np.array([row[1 if rewards else 2] for row in rows])
        return np.array([row[0] for row in rows]), *np.ascontiguousarray(values.T)

    def action_names(self) -> list[str]:
        """A name for every number of the action."""
        terms = {} if self.rl is None else self.rl.action_manager.terms
        return [name if term.dim == 1 else f"{name} {i}" for name, term in terms.items() for i in range(term.dim)]

    def by_hand(self, name: str) -> bool:
        """Whether the world's command is given by hand."""
        return name in self.held and not bool(self.held[name][self.world].isnan().any())

    def facts(self) -> dict[str, str]:
        """What there is to say of the world now."""
        facts = {"time": f"{self.steps * self.env.step_dt:.1f} s"}
        if self.rl is None:
            return facts
        facts["episode"] = f"{float(self.rl.episode_length_buf[self.world]) * self.env.step_dt:.1f} s"
        facts["return"] = f"{float(self.rl.reward_manager.episode_sums[:, self.world].sum()):.2f}"
        robot = self.rl.robot
        if robot.layout.free_qpos is not None:
            (along, left, _), turn = robot.root_lin_vel[self.world].tolist(), float(robot.root_ang_vel[self.world, 2])
            facts["velocity"] = f"{along:.2f} m/s forward, {left:.2f} m/s left, {turn:.2f} rad/s"
        for name, term in self.commands.items():
            facts[f"command {name}"] = ", ".join(f"{value:.2f}" for value in term.command[self.world].tolist())
        if self.rl.failed_worlds:
            facts["broken worlds"] = str(self.rl.failed_worlds)
        return facts
