"""The control suite: 25 tasks on dm_control's models, with the time steps and rewards of MuJoCo Playground."""

from typing import NamedTuple

from genelab.core.registry import TaskSpec


class Row(NamedTuple):
    """One task of the suite."""

    name: str
    env: str
    """``"module:function"`` in this package."""
    summary: str
    target: float
    """Return at the end of the published reference curve."""
    best: float
    """Best published return of PPO in PyTorch after 100 million frames: mean of the last 100 evaluations."""


ROWS = (
    Row("AcrobotSwingup", "acrobot:swingup", "Swing two arms up with a motor between them", 220, 253.24),
    Row("AcrobotSwingupSparse", "acrobot:swingup_sparse", "Swing two arms up; only the target is rewarded", 15, 146.98),
    Row("BallInCup", "ball_in_cup:catch", "Catch a ball on a string in a cup", 680, 942.44),
    Row("CartpoleBalance", "cartpole:balance", "Balance a pole on a cart", 950, 968.23),
    Row("CartpoleBalanceSparse", "cartpole:balance_sparse", "Balance a pole; only upright is rewarded", 700, 995.34),
    Row("CartpoleSwingup", "cartpole:swingup", "Swing a pole up on a cart and balance it", 800, 729.09),
    Row("CartpoleSwingupSparse", "cartpole:swingup_sparse", "Swing a pole up; only upright is rewarded", 425, 521.98),
    Row("CheetahRun", "cheetah:run", "Run with a planar cheetah", 850, 883.44),
    Row("FingerSpin", "finger:spin", "Spin a body with a finger", 600, 713.35),
    Row("FingerTurnEasy", "finger:turn_easy", "Turn a body to a large target with a finger", 950, 663.58),
    Row("FingerTurnHard", "finger:turn_hard", "Turn a body to a small target with a finger", 950, 590.43),
    Row("FishSwim", "fish:swim", "Swim to a target with a fish", 650, 580.57),
    Row("HopperHop", "hopper:hop", "Hop forwards on one leg", 2, 22.0),
    Row("HopperStand", "hopper:stand", "Stand on one leg", 70, 237.15),
    Row("HumanoidStand", "humanoid:stand", "Stand with a humanoid", 700, 114.86),
    Row("HumanoidWalk", "humanoid:walk", "Walk with a humanoid", 500, 47.01),
    Row("HumanoidRun", "humanoid:run", "Run with a humanoid", 130, 18.83),
    Row("PendulumSwingup", "pendulum:swingup", "Swing a pole up with a weak motor", 395, 637.46),
    Row("PointMass", "point_mass:easy", "Bring a point mass to a target", 900, 868.09),
    Row("ReacherEasy", "reacher:easy", "Reach a large target with a planar arm", 950, 955.08),
    Row("ReacherHard", "reacher:hard", "Reach a small target with a planar arm", 950, 946.99),
    Row("SwimmerSwimmer6", "swimmer:swimmer6", "Swim to a target with six links", 560, 591.13),
    Row("WalkerRun", "walker:run", "Run with a planar walker", 560, 759.71),
    Row("WalkerStand", "walker:stand", "Stand with a planar walker", 1000, 948.35),
    Row("WalkerWalk", "walker:walk", "Walk with a planar walker", 960, 945.31),
)

TASKS = [
    TaskSpec(
        id=f"Playground-{row.name}-v0",
        summary=row.summary,
        env=f"{__name__}.{row.env}",
        agents={"rsl_rl": f"{__name__}.agents:ppo"},
        presets=f"{__name__}.agents:{row.name}",
        tags=("suite", row.env.partition(":")[0]),
        published=f"return {row.target:g} at the end of the reference curve; {row.best:g} by the best published PPO in "
        "PyTorch (100 M frames, mean over the last 100 evaluations)",
    )
    for row in ROWS
]
