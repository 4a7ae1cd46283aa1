"""Agent configs. The type of a task's agent config selects the backend that trains it."""

import math
import os
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from genelab.core.errors import UserError, hint
from genelab.core.ranges import Count, CountOrZero, NonNegative, Positive, Range, Seed, Share, Sizes, Threads
from genelab.rl.model_cfg import RslRlCnnModelCfg as RslRlCnnModelCfg  # files name it here
from genelab.rl.model_cfg import RslRlDistributionCfg, RslRlModelCfg, StandardDeviation
from genelab.scene.mirror import MirrorTable

Epochs = Annotated[int, Range(1, 1000)]
MiniBatches = Annotated[int, Range(1, 1_000_000)]
RolloutSteps = Annotated[int, Range(1, 100_000)]
LearningRate = Annotated[float, Range(0, 1e3)]

DEMO_VARIABLE = "GENELAB_SB3_DEMO_PATH"
"""Environment variable that names a file of demonstrations."""


@dataclass(kw_only=True)
class RslRlSymmetryCfg:
    """Mirror symmetry of the task, told to the learner."""

    table: MirrorTable
    exact: bool = False
    """In place of the other two, networks that are their own mirror image: a mean over an observation and its image."""
    augment: bool = True
    """Learn from the mirror image of every sample too."""
    mirror_loss: NonNegative = 0.0
    """Weight of the squared difference between the action in the mirror and the mirrored action, in standard
    deviations: with more than one of them, mirror images hardly count."""

    def unused_fields(self) -> dict[str, str]:
        reason = "exact networks have nothing to learn from mirror images"
        return dict.fromkeys(("augment", "mirror_loss"), reason) if self.exact else {}

    def validate(self) -> None:
        if not self.exact and not self.augment and self.mirror_loss == 0.0:
            raise UserError("augment is false and mirror_loss zero: leave symmetry out instead")


@dataclass(kw_only=True)
class RslRlPpoCfg:
    """Proximal policy optimisation. The type of ``agent.algorithm`` selects the learning method."""

    method: ClassVar[str] = "genelab.rl.methods.ppo:PPO"
    """``"module:Class"`` of the method; see `genelab.rl.methods.base`."""
    variants: ClassVar[dict[str, str]] = {"ppo": "genelab.rl.cfg:RslRlPpoCfg", "spo": "genelab.rl.methods.spo:SpoCfg"}
    """The methods there are, as a user names them."""

    num_learning_epochs: Epochs = 5
    num_mini_batches: MiniBatches = 4
    """At most as many as there are samples in an iteration; recurrent networks: as there are worlds."""
    mini_batch_size: Count | None = None
    """Samples in a mini-batch, at most: in place of `num_mini_batches`, as many equal mini-batches as that takes."""
    clip_param: Positive = 0.2
    gamma: Share = 0.99
    lam: Share = 0.95
    reward_scale: Positive = 1.0
    """What the learner multiplies rewards with. Returns that are logged and evaluated are not scaled."""
    value_loss_coef: NonNegative = 1.0
    use_clipped_value_loss: bool = True
    normalize_v_targets: bool = False
    """Let the critic predict returns less their running mean, in units of their running standard deviation."""
    entropy_coef: NonNegative = 0.005
    decay_entropy: bool = False
    """Let `entropy_coef` fall linearly to zero over the training: explore first, then be exact."""
    entropy_until: Annotated[float, Range(0, 1, open_low=True)] = 1.0
    """The share of the training after which a falling `entropy_coef` is zero."""
    learning_rate: LearningRate = 1e-3
    schedule: Literal["adaptive", "fixed", "linear"] = "adaptive"
    """Adaptive: the learning rate follows the KL divergence of the updates. Linear: it falls to `min_learning_rate`."""
    min_learning_rate: LearningRate = 0.0
    """Where the linear schedule ends, with the training."""
    desired_kl: Positive = 0.01
    max_state_kl: Positive | None = None
    """The most that one state counts in the divergence; without it, few states with a tiny deviation rule the rate."""
    max_learning_rate: LearningRate = 1e-2
    """Upper end of the adaptive learning rate."""
    decay_learning_rate: bool = False
    """Let that upper end fall linearly to zero over the training: no step along noise is large for its divergence."""
    max_grad_norm: Positive = 1.0
    optimizer: Literal["adam", "adamw", "sgd", "rmsprop"] = "adam"
    normalize_advantage_per_mini_batch: bool = False
    symmetry: RslRlSymmetryCfg | None = None
    """For robots with equal sides. Not with recurrent networks."""

    def validate(self) -> None:
        if self.schedule == "linear" and self.min_learning_rate > self.learning_rate:
            raise UserError(f"min_learning_rate must be at most {self.learning_rate:g}, the rate that it falls from")

    def unused_fields(self) -> dict[str, str]:
        adaptive = ("desired_kl", "max_state_kl", "max_learning_rate", "decay_learning_rate")
        readers = {"adaptive": adaptive, "linear": ("min_learning_rate",)}
        others = [name for schedule, names in readers.items() if schedule != self.schedule for name in names]
        unused = dict.fromkeys(others, f"the schedule of the learning rate is {self.schedule}")
        unused |= {} if self.decay_entropy else {"entropy_until": "entropy_coef does not fall"}
        return unused | ({} if self.mini_batch_size is None else {"num_mini_batches": "mini_batch_size is given"})

    def mini_batches(self, samples: int) -> int:
        """Mini-batches of an iteration with so many samples."""
        return self.num_mini_batches if self.mini_batch_size is None else math.ceil(samples / self.mini_batch_size)


@dataclass(kw_only=True)
class RolloutCfg:
    """Where the worlds of a training are."""

    workers: Annotated[int, Range(0, 1024)] = 0
    """Processes that simulate a part of the worlds each, on one thread. It changes the weights, as the seed does."""
    learners: Annotated[int, Range(1, 1024)] = 1
    """Processes that simulate a part of the worlds each and learn together (``--gpus``). It changes the weights."""

    def validate(self) -> None:
        if self.workers > 0 and self.learners > 1:
            raise UserError("workers (--workers) and learners (--gpus, torchrun) exclude each other")

    def check_worlds(self, num_envs: int) -> None:
        """Raise if so many worlds cannot be shared out."""
        if self.workers > num_envs:
            raise UserError(f"agent.rollout.workers must be at most env.num_envs, {num_envs}: each has a world or more")


@dataclass(kw_only=True)
class RslRlOnPolicyRunnerCfg:
    """A method that learns from rollouts, with rsl_rl's networks."""

    unit: ClassVar[str] = "iteration"
    """What `max_iterations` counts."""

    seed: Seed = 42
    max_iterations: CountOrZero = 150
    num_steps_per_env: RolloutSteps = 24
    """Actions per world and rollout."""
    num_unrolls: Annotated[int, Range(1, 1000)] = 1
    """Rollouts per iteration, one after the other. The advantages of one end with the value of its last observation."""
    action_repeat: Annotated[int, Range(1, 1000)] = 1
    """Control steps that each action is held for, in training and by the deployed policy; its reward is their sum."""
    save_interval: Count = 50
    """Iterations between two checkpoints."""
    obs_groups: dict[str, tuple[str, ...]] = field(
        default_factory=lambda: {"actor": ("policy",), "critic": ("critic",)}
    )
    """Which observation groups each network sees."""
    actor: RslRlModelCfg = field(default_factory=lambda: RslRlModelCfg(distribution=RslRlDistributionCfg()))
    critic: RslRlModelCfg = field(default_factory=RslRlModelCfg)
    algorithm: RslRlPpoCfg = field(default_factory=RslRlPpoCfg)
    rollout: RolloutCfg = field(default_factory=RolloutCfg)
    random_episode_start: bool = True
    """Start the first episodes at random points of their length, so that worlds do not end all at once."""
    torch_threads: Threads = 0
    """Threads of the learner; 0 takes all cores.

    Recorded in the run, because it changes the last bits of the weights.
    """

    @property
    def actions_per_iteration(self) -> int:
        """Actions per world and iteration."""
        return self.num_steps_per_env * self.num_unrolls

    @property
    def is_recurrent(self) -> bool:
        return self.actor.is_recurrent or self.critic.is_recurrent

    def validate(self) -> None:
        if self.action_repeat > 1 and self.is_recurrent:
            raise UserError("action_repeat goes with networks without memory: set rnn_type to none")

    def check_samples(self, num_envs: int) -> None:
        """Raise if so many worlds cannot be shared out, or an iteration has fewer samples than mini-batches."""
        self.rollout.check_worlds(num_envs)
        every = num_envs * self.actions_per_iteration
        samples, what = num_envs, "worlds, which recurrent networks learn from as a whole"
        if not self.is_recurrent:
            samples, what = every, "samples in an iteration"
        number = self.algorithm.mini_batches(every)
        if self.algorithm.mini_batch_size is None:
            _check_mini_batches("agent.algorithm.num_mini_batches", number, samples, what)
        elif number > samples:
            raise UserError(f"agent.algorithm.mini_batch_size asks for {number} mini-batches of {samples} {what}")
        if (learners := self.rollout.learners) > 1:
            self._check_learners(learners, num_envs, every // number)

    def _check_learners(self, learners: int, num_envs: int, mini_batch: int) -> None:
        what = f"agent.rollout.learners {learners}"
        if num_envs % learners:
            raise UserError(f"{what}: env.num_envs, {num_envs}, does not divide evenly by it")
        if self.is_recurrent:
            raise UserError(f"{what}: recurrent networks learn in one process, from whole worlds at a time")
        if mini_batch < (least := 64 * learners):  # with fewer, one of them may have no sample of it at all
            raise UserError(f"{what}: mini-batches of {mini_batch} samples are too small, {least} is the least")

    def steps_per_iteration(self, num_envs: int) -> int:
        """Environment steps over so many worlds in one iteration."""
        return self.actions_per_iteration * self.action_repeat * num_envs

    def total_steps(self, num_envs: int) -> int:
        """Environment steps over so many worlds in the whole training."""
        return self.max_iterations * self.steps_per_iteration(num_envs)


def _check_mini_batches(path: str, number: int, samples: int, what: str) -> None:
    if number > samples:
        raise UserError(f"{path} must be at most {samples}, not {number}: there are {samples} {what}")


ON_POLICY = ("PPO", "A2C")
OFF_POLICY = ("SAC", "TD3", "DDPG")
_ONLY_OF = {
    **dict.fromkeys(("on_policy.num_epochs", "on_policy.num_mini_batches", "on_policy.clip_param"), ("PPO",)),
    **dict.fromkeys(("off_policy.policy_delay", "off_policy.target_noise", "off_policy.target_noise_clip"), ("TD3",)),
    "off_policy.entropy_coef": ("SAC",),
    "off_policy.exploration_std": ("TD3", "DDPG"),
}
"""Settings that some algorithms of a family do not have."""


@dataclass(kw_only=True)
class OnPolicyCfg:
    """Settings of PPO and A2C."""

    num_steps: RolloutSteps = 24
    """Control steps per world between two updates."""
    num_epochs: Epochs = 5
    num_mini_batches: MiniBatches = 4
    """At most as many as there are samples between two updates."""
    clip_param: Positive = 0.2
    lam: Share = 0.95
    value_loss_coef: NonNegative = 1.0
    entropy_coef: NonNegative = 0.0
    max_grad_norm: Positive = 1.0
    init_std: StandardDeviation = 1.0
    """Standard deviation of the first policy's actions."""


@dataclass(kw_only=True)
class OffPolicyCfg:
    """Settings of SAC, TD3 and DDPG."""

    buffer_size: Annotated[int, Range(1, 100_000_000)] = 1_000_000
    """Transitions kept, over all worlds."""
    batch_size: Annotated[int, Range(1, 1_000_000)] = 256
    learning_starts: CountOrZero = 10_000
    """Environment steps over all worlds with random actions before learning begins."""
    train_every: Count = 1
    """Control steps between two updates."""
    gradient_steps: Annotated[int, Range(1, 100_000)] = 1
    """Gradient steps per update."""
    tau: Share = 0.005
    """How far target networks move towards the networks in a gradient step."""
    action_range: Annotated[float, Range(1e-6, 1e6)] = 1.0
    """Actions lie within plus and minus this."""
    entropy_coef: NonNegative | None = None
    """SAC's weight of the entropy; none learns it."""
    exploration_std: NonNegative = 0.1
    """Standard deviation of the noise on actions while training, as a part of `action_range`."""
    policy_delay: Count = 2
    """Gradient steps of the critics for each of the actor."""
    target_noise: NonNegative = 0.2
    target_noise_clip: NonNegative = 0.5
    """Noise on the actions of the target policy: standard deviation and bound, as parts of `action_range`."""
    log_interval: Count = 100
    """Control steps per line of the log."""


@dataclass(kw_only=True)
class TimestepAgentCfg:
    """What agents of skrl and stable-baselines3 have in common."""

    unit: ClassVar[str] = "step"
    """What `max_iterations` counts."""

    algorithm: str = "PPO"
    """PPO, A2C, SAC, TD3 or DDPG."""
    seed: Seed = 42
    max_iterations: CountOrZero = 1_000_000
    """Environment steps over all worlds: 1000 control steps of 64 worlds are 64,000. Rollouts are finished."""
    save_interval: Count = 500_000
    """Environment steps over all worlds between two checkpoints."""
    hidden_dims: Sizes = (128, 128)
    """Of actor and critics alike."""
    activation: Literal["elu", "relu", "tanh", "silu", "gelu"] = "elu"
    obs_normalization: bool = True
    """Normalise observations by their running mean and standard deviation."""
    learning_rate: LearningRate = 3e-4
    decay_learning_rate: bool = False
    """Let the learning rate fall linearly to zero at `max_iterations`."""
    gamma: Share = 0.99
    on_policy: OnPolicyCfg = field(default_factory=OnPolicyCfg)
    off_policy: OffPolicyCfg = field(default_factory=OffPolicyCfg)
    rollout: RolloutCfg = field(default_factory=RolloutCfg)
    random_episode_start: bool = True
    """Start the first episodes at random points of their length, so that worlds do not end all at once."""
    torch_threads: Threads = 0
    """Threads of the learner; 0 takes all cores."""

    @property
    def is_on_policy(self) -> bool:
        return self.algorithm in ON_POLICY

    def validate(self) -> None:
        algorithms = (*ON_POLICY, *OFF_POLICY)
        if self.algorithm not in algorithms:
            known = hint(self.algorithm, algorithms) or f" (there is {', '.join(algorithms)})"
            raise UserError(f"algorithm '{self.algorithm}' does not exist{known}")

    def check_samples(self, num_envs: int) -> None:
        """Raise if so many worlds cannot be shared out, or a rollout has fewer samples than mini-batches."""
        self.rollout.check_worlds(num_envs)
        if self.algorithm == "PPO":
            number, samples = self.on_policy.num_mini_batches, num_envs * self.on_policy.num_steps
            _check_mini_batches("agent.on_policy.num_mini_batches", number, samples, "samples in a rollout")

    def total_steps(self, num_envs: int) -> int:
        """Environment steps over so many worlds in the whole training, with its last rollout finished."""
        block = num_envs * (self.on_policy.num_steps if self.is_on_policy else 1)
        return math.ceil(self.max_iterations / block) * block

    def unused_fields(self) -> dict[str, str]:
        reason = f"{self.algorithm} does not have it"
        unused = {"off_policy" if self.is_on_policy else "on_policy": reason}
        unused["rollout.learners"] = "only rsl_rl learns in several processes"
        return unused | {path: reason for path, users in _ONLY_OF.items() if self.algorithm not in users}


@dataclass(kw_only=True)
class SkrlAgentCfg(TimestepAgentCfg):
    """An agent of skrl."""

    obs_groups: dict[str, tuple[str, ...]] = field(
        default_factory=lambda: {"actor": ("policy",), "critic": ("critic",)}
    )
    """Which observation groups actor and critics see; in goal-conditioned tasks both see the goals too."""

    def unused_fields(self) -> dict[str, str]:
        unused = super().unused_fields()
        if self.algorithm == "A2C":
            unused["on_policy.value_loss_coef"] = "A2C of skrl does not have it"
        return unused


@dataclass(kw_only=True)
class Sb3AgentCfg(TimestepAgentCfg):
    """An agent of stable-baselines3."""

    obs_groups: tuple[str, ...] = ("policy",)
    """Observation groups that actor and critics see; in goal-conditioned tasks they see the goals too."""
    her: bool = False
    """Hindsight experience replay, for off-policy algorithms in goal-conditioned tasks."""
    her_goals: Annotated[int, Range(1, 1000)] = 4
    """Relabelled samples for each sample with the goal that was asked for."""
    her_strategy: Literal["future", "final", "episode"] = "future"
    """Which of an episode's achieved goals to relabel with."""
    demo_path: str | None = field(default_factory=lambda: os.environ.get(DEMO_VARIABLE) or None)
    """File of demonstrations to fill the replay buffer with. By default what GENELAB_SB3_DEMO_PATH says."""

    def validate(self) -> None:
        super().validate()
        for name, given in {"her": self.her, "demo_path": self.demo_path is not None}.items():
            if given and self.is_on_policy:
                raise UserError(f"{name} goes with {', '.join(OFF_POLICY)}, which have a replay buffer")

    def unused_fields(self) -> dict[str, str]:
        hindsight = dict.fromkeys(("her_goals", "her_strategy"), "her is false")
        return super().unused_fields() | ({} if self.her else hindsight)
