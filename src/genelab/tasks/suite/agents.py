"""The agent of the control suite's tasks, and its presets."""

from dataclasses import replace
from typing import Any

from genelab import mdp
from genelab.envs import DoneTermCfg, EventTermCfg, RampCfg, RewardTermCfg
from genelab.rl.cfg import RslRlDistributionCfg, RslRlModelCfg, RslRlOnPolicyRunnerCfg, RslRlPpoCfg
from genelab.rl.playground_specs import PLAYGROUND_SPECS
from genelab.tasks.suite import acrobot, cartpole, finger, fish, reacher

STEPS = 30
"""Actions per world and iteration."""
SCORED = 150
"""Iterations at the end without any help: the score is of the last hundred, of episodes that began without it."""


def ppo() -> RslRlOnPolicyRunnerCfg:
    """PPO: policy of two layers of 64, value of three of 256, as many frames as were published."""
    return RslRlOnPolicyRunnerCfg(
        max_iterations=1600,
        num_steps_per_env=STEPS,
        obs_groups={"actor": ("policy",), "critic": ("policy",)},
        actor=RslRlModelCfg(hidden_dims=(64, 64), activation="swish", distribution=RslRlDistributionCfg()),
        critic=RslRlModelCfg(hidden_dims=(256, 256, 256), activation="swish"),
        algorithm=RslRlPpoCfg(
            gamma=0.995,
            entropy_coef=0.01,
            value_loss_coef=0.5,
            use_clipped_value_loss=False,  # it lets values move by 0.2 an iteration, where they are in the hundreds
            num_learning_epochs=16,
            mini_batch_size=4096,
            learning_rate=1e-3,
            schedule="fixed",
        ),
    )


def cpu(
    iterations: int,
    worlds: int = 512,
    repeat: int = 1,
    squashed: bool = True,
    restart_every: float | None = None,
    solved_every: float | None = None,
    afar: RewardTermCfg | None = None,
    nearer: bool = False,
    fallen: float | None = None,
    **ppo: Any,
) -> dict[str, Any]:
    """Few worlds and small networks for one core, with actions held for `repeat` control steps, and settings of PPO.

    `squashed` actions have a deviation that depends on the state: wide to swing up, small to hold.
    What only helps to begin fades to nothing before the score is taken: new episodes every so many seconds, more often
    where the task is solved, a reward felt from `afar`, starts `nearer` to a goal where all joints are at zero, and
    ends of episodes where the root body has `fallen` below a height.
    """
    steps = (iterations - SCORED) * STEPS * repeat
    changes: dict[str, Any] = {
        "env.num_envs": worlds,
        "agent.max_iterations": iterations,
        "agent.action_repeat": repeat,
        "agent.actor.distribution": "tanh_normal" if squashed else "gaussian",
        "agent.critic.hidden_dims": (64, 64),
        # A policy that stays where it should sees ever less: inputs that go on growing with that undo what it learnt.
        "agent.actor.normalization_until": 1_000_000,
        "agent.critic.normalization_until": 1_000_000,
    }
    for func, every in ((mdp.restart, restart_every), (mdp.restart_solved, solved_every)):
        if every is not None:
            params = {"every": every, "until": steps}
            changes[f"env.terminations.{func.__name__}"] = DoneTermCfg(func, params=params, time_out=True)
    if afar is not None:
        changes["env.rewards.afar"] = replace(afar, ramp=afar.ramp or RampCfg(start=1.0, end=0.0, steps=steps))
    if nearer:
        changes["env.events.start_nearer"] = EventTermCfg(mdp.start_nearer, params={"until": steps})
    if fallen is not None:
        changes["env.terminations.fallen"] = DoneTermCfg(mdp.fallen, params={"height": fallen, "until": steps})
    settings = {
        "gamma": 0.995**repeat,
        "num_learning_epochs": 8,
        "mini_batch_size": 2048,
        "value_loss_coef": 1.0,
        "normalize_v_targets": True,
        "entropy_coef": 0.005,
        "decay_entropy": True,
        "schedule": "adaptive",
        "desired_kl": 0.02,
        "max_learning_rate": 1e-2,
        "decay_learning_rate": True,
    }
    return changes | {f"agent.algorithm.{name}": value for name, value in (settings | ppo).items()}


def _turn(radius: float, fade: RampCfg | None = None, **ppo: Any) -> dict[str, Any]:
    afar = RewardTermCfg(finger.turned, weight=0.5, params={"radius": radius, "margin": 0.3}, ramp=fade)
    return cpu(640, repeat=2, restart_every=4.0, solved_every=0.7, afar=afar, entropy_coef=0.003, **ppo)


def _reach(radii: float) -> dict[str, Any]:
    afar = RewardTermCfg(reacher.reached, weight=0.3, params={"radii": radii, "margin": 0.2})
    return cpu(800, squashed=False, restart_every=3.0, afar=afar, entropy_coef=0.002)


def _humanoid(iterations: int) -> dict[str, Any]:
    ppo = {"num_learning_epochs": 4, "desired_kl": 0.05, "max_learning_rate": 3e-3, "entropy_coef": 0.002}
    nets = {"agent.actor.hidden_dims": (128, 128), "agent.critic.hidden_dims": (128, 128)}
    return cpu(iterations, squashed=False, fallen=0.9, **ppo) | nets | {"agent.actor.distribution.init_std": 0.2}


_STD = {"agent.actor.distribution.state_dependent": True, "agent.actor.distribution.init_std": 0.5}
_NEAR = RewardTermCfg(acrobot.near_target, weight=2.0, params={"margin": 1.0})
_CALM = RewardTermCfg(cartpole.calm, weight=0.5)
_FAST = RewardTermCfg(finger.spinning, weight=1.0, params={"rate": 40.0, "margin": 40.0})
_SWIM = RewardTermCfg(fish.near_target_and_upright, weight=0.3, params={"margin": 0.6})
_HIGH = RewardTermCfg(mdp.cos_joint, weight=0.2, params={"joint": "hinge"})
CPU = {
    "AcrobotSwingup": cpu(600, repeat=2, restart_every=3.0, nearer=True),
    "AcrobotSwingupSparse": cpu(600, repeat=2, restart_every=3.0, nearer=True, afar=_NEAR),
    "BallInCup": cpu(200, repeat=2),
    "CartpoleBalance": cpu(200, squashed=False),
    "CartpoleBalanceSparse": cpu(200, squashed=False),
    "CartpoleSwingup": cpu(400, squashed=False),
    "CartpoleSwingupSparse": cpu(400, squashed=False, afar=_CALM),
    "CheetahRun": cpu(400, repeat=2),
    "FingerSpin": cpu(800, gamma=0.98, afar=_FAST, entropy_coef=0.02),
    "FingerTurnEasy": _turn(0.07),
    "FingerTurnHard": _turn(0.03, fade=RampCfg(start=1.0, end=0.0, steps=12_000), max_state_kl=0.2),
    "FishSwim": cpu(600, afar=_SWIM),
    "HopperHop": cpu(300, repeat=2),
    "HopperStand": cpu(300, repeat=2),
    "HumanoidStand": _humanoid(400),
    "HumanoidWalk": _humanoid(600),
    "HumanoidRun": _humanoid(600),
    "PendulumSwingup": cpu(500, repeat=2, restart_every=4.0, afar=_HIGH),
    "PointMass": cpu(325, worlds=2048, squashed=False, restart_every=3.0, gamma=0.99, entropy_coef=0.0005) | _STD,
    "ReacherEasy": _reach(0.06),
    "ReacherHard": _reach(0.025),
    "SwimmerSwimmer6": cpu(500),
    "WalkerRun": cpu(600, restart_every=4.0),
    "WalkerStand": cpu(400, restart_every=4.0),
    "WalkerWalk": cpu(500, restart_every=4.0),
}
"""The preset of every task; docs/suite.md says what was tried."""


def __getattr__(task: str) -> dict[str, dict[str, Any]]:
    """The presets of a task, by its name."""
    if task not in CPU:
        raise AttributeError(task)
    return {"cpu": CPU[task], **PLAYGROUND_SPECS}
