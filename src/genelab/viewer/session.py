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
from genelab.mdp.events import push_root
from genelab.rl.backends.base import Policy

HISTORY = 250
"""Control steps that plots show."""
PUSH = 1.0
"""Largest velocity of a push, m/s or rad/s."""
Plots = dict[str, dict[str, np.ndarray]]
"""Title to name to values of each line, x first."""


class Session:
    """An environment, who acts in it, and what a person has set."""

    def __init__(
        self,
        env: ManagerBasedEnv,
        agents: Mapping[str, Callable[[], Policy]] | None = None,
        agent: str = "",
        load: Callable[[str], Policy] | None = None,
    ):
        """`agents` make policies; a scene that plays itself has none. `load` makes the policy of a file."""
        self.env = env
        self.rl = env if isinstance(env, ManagerBasedRlEnv) else None
        """The environment, if it is one to learn in."""
        self.agents, self.agent, self.load = dict(agents or {}), agent, load
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
        terms = {} if self.rl is None else self.rl.command_manager.terms
        self.commands = {name: term for name, term in terms.items() if term.sliders()}
        """Those that can be given by hand."""
        self._held = {name: torch.full_like(term.command, torch.nan) for name, term in self.commands.items()}
        self._history: deque[tuple[float, Tensor, Tensor]] = deque(maxlen=HISTORY)
        self._policy: Policy | None = None
        """Made by `prepare`, at the first step at the latest."""
        self._asked: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._single = False

    @property
    def waiting(self) -> bool:
        """No step is to be taken now."""
        return self.paused and not self._single

    def ask(self, change: Callable[[], object]) -> None:
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
        self._single = False
        self.steps += 1
        if self.rl is None:
            self.env.play_step()
            return
        policy = self.prepare()
        _, _, _, _, extras = self.rl.step(policy.act(self.rl.obs))
        if extras["finished"] is not None:
            policy.reset(extras["finished"].env_ids)
        terms, actions = self.rl.reward_manager.values[:, self.world], self.rl.action_manager.action[self.world]
        self._history.append((self.steps * self.env.step_dt, terms.clone(), actions.clone()))

    def prepare(self) -> Policy:
        """Make the policy, for which its library is imported: worlds may be shown before."""
        self._policy = self._policy or self.agents[self.agent]()
        return self._policy

    def single_step(self) -> None:
        self.paused = self._single = True

    def look_at(self, world: int) -> None:
        """Turn to another world."""
        self.world = world
        self._history.clear()

    def use(self, agent: str) -> None:
        """Let another agent act. The worlds stay as they are."""
        self._policy = self.agents[agent]()
        self.agent, self.message = agent, f"{agent} acts now"

    def use_file(self, path: str) -> None:
        """Let the policy of a file act. It becomes an agent by the file's name."""
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
            self.env.engine.reset(self.env.worlds)
            self.env.step_count = 0
        if self._policy is not None:
            self._policy.reset()
        self._history.clear()

    @torch.no_grad()
    def push(self) -> None:
        """Give the robot of the world a random velocity: its root, or its joints if the root is fixed."""
        if self.rl is None:
            raise UserError("a scene that plays itself cannot be pushed")
        robot, world = self.rl.robot, torch.tensor([self.world], device=self.rl.device)
        if robot.layout.free_qpos is not None:
            push_root(self.rl, world, xy=PUSH, yaw=PUSH)
        else:
            kick = self.rl.streams.uniform("viewer/push", (1, len(robot.joint_names)), -PUSH, PUSH)
            robot.write_joints(world, vel=robot.joint_vel[world] + kick)

    def command(self, name: str, values: list[float] | None) -> None:
        """Give the world's command by hand, or let the task choose it again from its next draw on."""
        held = self._held[name]
        held[self.world] = torch.nan if values is None else torch.tensor(values, device=held.device)
        self.commands[name].hold(held)

    def by_hand(self, name: str) -> bool:
        return not bool(self._held[name][self.world].isnan().any())

    def plots(self) -> Plots:
        """Reward terms and actions of the world in the last steps."""
        if self.rl is None:
            return {}
        terms = self.rl.action_manager.terms.items()
        actions = [name if term.dim == 1 else f"{name} {i}" for name, term in terms for i in range(term.dim)]
        first = (0.0, torch.zeros(len(self.rl.cfg.rewards)), torch.zeros(len(actions)))
        times, *values = zip(*(self._history or [first]), strict=True)
        lines = [torch.stack(rows, dim=1).cpu().double().numpy() for rows in values]
        titles = zip(("Reward terms", "Actions"), (self.rl.cfg.rewards, actions), lines, strict=True)
        return {title: {"s": np.array(times), **dict(zip(names, rows, strict=True))} for title, names, rows in titles}

    def facts(self) -> dict[str, str]:
        """What there is to say of the world now."""
        facts = {"time": f"{self.steps * self.env.step_dt:.2f} s"}
        if self.rl is None:
            return facts
        facts["episode"] = f"{float(self.rl.episode_length_buf[self.world]) * self.env.step_dt:.2f} s"
        facts["return"] = f"{float(self.rl.reward_manager.episode_sums[:, self.world].sum()):.2f}"
        robot = self.rl.robot
        if robot.layout.free_qpos is not None:
            (along, left, _), turn = robot.root_lin_vel[self.world].tolist(), float(robot.root_ang_vel[self.world, 2])
            facts["velocity"] = f"{along:.2f} m/s forward, {left:.2f} m/s left, {turn:.2f} rad/s"
        if self.rl.failed_worlds:
            facts["broken worlds"] = str(self.rl.failed_worlds)
        return facts
