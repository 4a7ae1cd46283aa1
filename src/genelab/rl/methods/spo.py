"""Simple policy optimisation (arXiv 2401.16025): PPO with a smooth bound in place of the clipped ratio.

PPO's clipped loss has no gradient once the ratio has left its bounds, so nothing brings it back. SPO's is a parabola in
the ratio, whose best value lies on the bound: 1 + clip_param for good actions, 1 - clip_param for bad ones.
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from genelab.rl.cfg import RslRlPpoCfg
from genelab.rl.methods.ppo import PPO


@dataclass(kw_only=True)
class SpoCfg(RslRlPpoCfg):
    """Simple policy optimisation. `clip_param` is how far from 1 the best ratio lies."""

    method: ClassVar[str] = "genelab.rl.methods.spo:SPO"


class SPO(PPO):
    """PPO with SPO's loss of the policy."""

    def surrogate(self, ratio: Tensor, advantages: Tensor) -> Tensor:
        penalty = advantages.abs() * (ratio - 1.0).square() / (2.0 * self.clip_param)
        return penalty - advantages * ratio
