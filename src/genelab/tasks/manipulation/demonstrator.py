"""A scripted policy that picks and places: it shows the task's solution, for replay buffers to start from."""

import torch
from torch import Tensor

from genelab.envs import ManagerBasedRlEnv
from genelab.rl.backends.base import Policy
from genelab.scene.robots.panda import GRIP_HEIGHT
from genelab.tasks.manipulation.franka import pick_and_place

APPROACH, DESCEND, CLOSE, LIFT, CARRY = range(5)
"""What a world is doing. Carrying ends at the goal, where the cube is held."""
CLEARANCE = 0.08
"""Height of the open fingers over the place they grip at, on the way to the cube, metres."""
LIFTED = 0.22
"""Height of the hand above the ground at which it begins to carry, metres."""
CLOSING_STEPS = 4
LOST = 0.04
"""A cube so far from between the fingers has slipped out, metres: try again."""


class PickAndPlaceDemonstrator(Policy):
    """Approach above the cube, descend, close, lift, carry to the goal, hold. Every world is in a phase of its own."""

    def __init__(self, env: ManagerBasedRlEnv):
        step = pick_and_place().actions["hand"].scale  # type: ignore[attr-defined]
        self._gain = 2.0 / step  # a servo does about 40 % of a displacement within a control step
        dims = env.observation_manager.groups["policy"].term_dims
        first = sum(list(dims.values())[: list(dims).index("hand")])
        self._hand = slice(first, first + 3)
        self.phase = torch.zeros(env.num_envs, dtype=torch.int64, device=env.device)
        """(N,) one of the five phases."""
        self._closing = torch.zeros_like(self.phase)
        self._grip = torch.tensor([0.0, 0.0, GRIP_HEIGHT], device=env.device)

    def act(self, obs: dict[str, Tensor], deterministic: bool = True) -> Tensor:
        hand, cube, goal = obs["policy"][:, self._hand], obs["achieved_goal"], obs["desired_goal"]
        to_cube = cube + self._grip - hand  # (N, 3) what brings the pads around the cube
        above = to_cube.clone()
        above[:, 2] += CLEARANCE
        lift = torch.zeros_like(hand)
        lift[:, 2] = LIFTED - hand[:, 2]
        self._advance(to_cube, above, lift)
        moves = torch.stack((above, to_cube, torch.zeros_like(hand), lift, goal - cube))
        move = moves[self.phase, torch.arange(len(hand), device=hand.device)]
        gripper = torch.where(self.phase < CLOSE, 1.0, -1.0).unsqueeze(-1)
        return torch.cat(((self._gain * move).clamp(-1.0, 1.0), gripper), dim=-1)

    def reset(self, env_ids: Tensor | None = None) -> None:
        worlds = slice(None) if env_ids is None else env_ids
        self.phase[worlds] = APPROACH
        self._closing[worlds] = 0

    def _advance(self, to_cube: Tensor, above: Tensor, lift: Tensor) -> None:
        """Let worlds whose phase is complete go on to the next one."""
        self._closing = torch.where(self.phase == CLOSE, self._closing + 1, 0)
        over_it, around_it = above.norm(dim=-1) < 0.015, to_cube.norm(dim=-1) < 0.008
        closed, lifted, never = self._closing > CLOSING_STEPS, lift[:, 2] < 0.02, self.phase < 0
        complete = torch.stack((over_it, around_it, closed, lifted, never))
        self.phase += complete.gather(0, self.phase.unsqueeze(0)).squeeze(0)
        self.phase[(self.phase > CLOSE) & (to_cube.norm(dim=-1) > LOST)] = APPROACH
