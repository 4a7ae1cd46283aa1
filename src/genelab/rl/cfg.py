"""Agent configs. The type of a task's agent config selects the backend that trains it."""

from dataclasses import dataclass, field
from typing import Literal

from genelab.core.errors import UserError
from genelab.core.overrides import at_least
from genelab.mdp.symmetry import MirrorTable


@dataclass(kw_only=True)
class RslRlDistributionCfg:
    """A Gaussian over actions with a learnt standard deviation."""

    init_std: float = 1.0
    std_type: Literal["scalar", "log"] = "scalar"
    state_dependent: bool = False
    """Let the network output the standard deviation too."""
    std_range: tuple[float, float] = (1e-6, 1e6)
    """Bounds on the standard deviation."""

    def validate(self) -> None:
        at_least(1e-6, init_std=self.init_std)


@dataclass(kw_only=True)
class RslRlModelCfg:
    """An MLP, behind a recurrent layer if `rnn_type` says so."""

    hidden_dims: tuple[int, ...] = (128, 128)
    activation: Literal[
        "elu", "selu", "relu", "crelu", "lrelu", "tanh", "sigmoid", "softplus", "gelu", "swish", "mish"
    ] = "elu"
    obs_normalization: bool = True
    """Normalise observations by their running mean and standard deviation."""
    rnn_type: Literal["lstm", "gru"] | None = None
    """The one knob that makes the network recurrent."""
    rnn_hidden_dim: int = 64
    rnn_num_layers: int = 1
    distribution: RslRlDistributionCfg | None = None
    """What the outputs parametrise; None for a critic."""

    def validate(self) -> None:
        at_least(1, rnn_hidden_dim=self.rnn_hidden_dim, rnn_num_layers=self.rnn_num_layers)
        at_least(1, **{f"hidden_dims[{i}]": size for i, size in enumerate(self.hidden_dims)})

    def unused_fields(self) -> dict[str, str]:
        if self.rnn_type is not None:
            return {}
        reason = "rnn_type is none, so there is no recurrent layer (set rnn_type to lstm or gru)"
        return {"rnn_hidden_dim": reason, "rnn_num_layers": reason}


@dataclass(kw_only=True)
class RslRlSymmetryCfg:
    """Left-right symmetry of the task, told to the learner."""

    table: MirrorTable
    augment: bool = True
    """Learn from the mirror image of every sample too."""
    mirror_loss: float = 0.0
    """Weight of the squared difference between the action in the mirror and the mirrored action."""

    def validate(self) -> None:
        at_least(0, mirror_loss=self.mirror_loss)
        if not self.augment and self.mirror_loss == 0.0:
            raise UserError("augment is false and mirror_loss zero: leave symmetry out instead")


@dataclass(kw_only=True)
class RslRlPpoCfg:
    """Proximal policy optimisation."""

    num_learning_epochs: int = 5
    num_mini_batches: int = 4
    clip_param: float = 0.2
    gamma: float = 0.99
    lam: float = 0.95
    value_loss_coef: float = 1.0
    use_clipped_value_loss: bool = True
    entropy_coef: float = 0.005
    learning_rate: float = 1e-3
    schedule: Literal["adaptive", "fixed"] = "adaptive"
    """Adaptive: the learning rate follows the KL divergence of the updates."""
    desired_kl: float = 0.01
    max_learning_rate: float = 1e-2
    """Upper end of the adaptive learning rate."""
    max_grad_norm: float = 1.0
    optimizer: Literal["adam", "adamw", "sgd", "rmsprop"] = "adam"
    normalize_advantage_per_mini_batch: bool = False
    symmetry: RslRlSymmetryCfg | None = None
    """For robots with equal sides. Not with recurrent networks."""

    def validate(self) -> None:
        at_least(1, num_learning_epochs=self.num_learning_epochs, num_mini_batches=self.num_mini_batches)
        at_least(0, learning_rate=self.learning_rate)

    def unused_fields(self) -> dict[str, str]:
        if self.schedule == "adaptive":
            return {}
        return dict.fromkeys(("desired_kl", "max_learning_rate"), "the schedule of the learning rate is fixed")


@dataclass(kw_only=True)
class RslRlOnPolicyRunnerCfg:
    """PPO by rsl_rl."""

    seed: int = 42
    max_iterations: int = 150
    num_steps_per_env: int = 24
    """Control steps per world and iteration."""
    save_interval: int = 50
    """Iterations between two checkpoints."""
    obs_groups: dict[str, tuple[str, ...]] = field(
        default_factory=lambda: {"actor": ("policy",), "critic": ("critic",)}
    )
    """Which observation groups each network sees."""
    actor: RslRlModelCfg = field(default_factory=lambda: RslRlModelCfg(distribution=RslRlDistributionCfg()))
    critic: RslRlModelCfg = field(default_factory=RslRlModelCfg)
    algorithm: RslRlPpoCfg = field(default_factory=RslRlPpoCfg)
    random_episode_start: bool = True
    """Start the first episodes at random points of their length, so that worlds do not end all at once."""
    torch_threads: int = 0
    """Threads of the learner; 0 takes all cores.

    Recorded in the run, because it changes the last bits of the weights.
    """

    def validate(self) -> None:
        at_least(1, num_steps_per_env=self.num_steps_per_env, save_interval=self.save_interval)
        at_least(0, max_iterations=self.max_iterations, torch_threads=self.torch_threads)
