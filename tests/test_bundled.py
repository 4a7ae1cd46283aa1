"""The policies that come with the package do what they did when they were bundled.

Rounding differs between processors, and contacts make small differences grow: the beginning of the episodes is compared
closely, their whole return with a margin for that.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from genelab.experiment.inference import setup_policy
from genelab.rl.evaluator import evaluate

WORLDS = 10
FIRST_STEPS = 100


@dataclass(frozen=True)
class Kept:
    """What a bundled policy reached in ten worlds with seed 0."""

    first_rewards: float
    """Mean over worlds of the rewards of the first hundred steps."""
    return_mean: float
    margin: float
    """How far the return may be from it."""


KEPT = {
    "GeneLab-Inverted-Pendulum-v0": Kept(3.99950, 39.9953, margin=0.002),
    "GeneLab-Double-Inverted-Pendulum-v0": Kept(4.99752, 59.9863, margin=0.002),
    "Genelab-Velocity-Flat-Unitree-Go1-v0": Kept(4.48327, 51.403, margin=0.3),
    "Genelab-Velocity-Rough-Unitree-Go1-v0": Kept(4.79580, 44.888, margin=3.0),
    "GeneLab-Franka-Pick-And-Place-v0": Kept(-6.00459, -6.0046, margin=0.3),
    "Playground-CartpoleSwingup-v0": Kept(7.50051, 864.59, margin=2.0),
    "Playground-CheetahRun-v0": Kept(37.3169, 893.124, margin=10.0),
    "Playground-FingerTurnEasy-v0": Kept(63.8, 963.8, margin=5.0),
    "Playground-FishSwim-v0": Kept(9.54705, 631.149, margin=10.0),
    "Playground-HumanoidStand-v0": Kept(99.3311, 992.425, margin=2.0),
    "Playground-HumanoidWalk-v0": Kept(89.5272, 963.393, margin=5.0),
    "Playground-WalkerWalk-v0": Kept(66.5072, 965.005, margin=3.0),
}


@pytest.mark.parametrize("task", KEPT)
def test_a_bundled_policy_reaches_what_it_reached_before(task: str) -> None:
    checkpoint = Path(f"bundled:{task}")
    _, inference, _ = setup_policy(task, checkpoint, [], num_envs=WORLDS, say=lambda line: None)
    env, policy, kept = inference.env, inference.policy, KEPT[task]
    obs, paid = env.reset(seed=0), torch.zeros(WORLDS)
    policy.reset()
    for _ in range(FIRST_STEPS):
        obs, rewards, *_ = env.step(policy.act(obs))
        paid += rewards
    returns = evaluate(env, policy, episodes_per_env=1, seed=0)["metrics"]["return_mean"]
    env.close()
    assert float(paid.mean()) == pytest.approx(kept.first_rewards, rel=1e-3)
    assert returns == pytest.approx(kept.return_mean, abs=kept.margin)
