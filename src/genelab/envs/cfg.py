"""Environment configs: plain dataclasses, terms in dicts by name."""

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from genelab.core import ranges
from genelab.core.config import HasParams
from genelab.core.errors import UserError, hint
from genelab.core.stored_config import takes
from genelab.scene.options import PhysicsOptionsCfg
from genelab.scene.scene import SceneCfg

Latency = Annotated[int, ranges.Range(0, 1000)]


@dataclass(kw_only=True)
class SimulationCfg(PhysicsOptionsCfg):
    """Physics settings: the engine, its time step, and options of the physics that are the models' own by default."""

    engine: str = "mujoco"
    """Which physics engine advances the worlds (``--sim``)."""
    dt: Annotated[float, ranges.Range(0, 1, open_low=True)] = 0.005
    """Physics time step, seconds. It always decides: a time step in a model's ``<option>`` is not read."""
    threads: ranges.Threads = 0
    """Physics threads; 0 takes all cores. Results do not depend on it."""
    gpu: bool = False
    """Run on the CUDA device instead of the CPU."""
    vis: bool = False
    """Show a viewer window."""
    steps: ranges.CountOrZero = 240
    """Length of a headless playback, control steps. Not read when a window is open."""

    @property
    def device(self) -> str:
        return "cuda" if self.gpu else "cpu"


@dataclass
class TermCfg(HasParams):
    """A function and its parameters, with the defaults of its signature filled in: a stored config says everything."""

    func: Callable[..., Any] = field(metadata=takes("env"))
    """``func(env, **params)``. A class is made once per environment as ``func(env, **params)`` and then called."""
    params: dict[str, Any] = field(default_factory=dict, kw_only=True)

    injected: typing.ClassVar[int] = 1
    """Leading positional arguments that the manager passes in: the environment, and for events the world ids."""

    def __post_init__(self) -> None:
        self.params = _complete(self.func, self.params, 1 if isinstance(self.func, type) else self.injected)


@dataclass(kw_only=True)
class RampCfg:
    """A factor that goes linearly from `start` to `end` over `steps` control steps of a training."""

    start: float
    end: float
    steps: ranges.CountOrZero = 0
    """0: the factor is `end` from the beginning, or from where `hold` ends."""
    after: ranges.CountOrZero = 0
    """Where `start` is. Before, the factor is zero."""
    hold: ranges.CountOrZero = 0
    """Control steps that the factor stays at `start` before it goes to `end`."""

    def factor(self, step: int) -> float:
        """The factor at a control step."""
        gone = step - self.after - self.hold
        if gone < 0:
            return 0.0 if step < self.after else self.start
        return self.end if gone >= self.steps else self.start + (self.end - self.start) * gone / self.steps

    def __str__(self) -> str:
        held = f"{self.start:g} for {self.hold} steps, then " if self.hold else ""
        return f"{held}{self.start:g} to {self.end:g} in {self.steps} steps from step {self.after + self.hold}"


@dataclass
class RewardTermCfg(TermCfg):
    """Reward: ``weight * func(env)`` with func returning (N,)."""

    weight: float = field(kw_only=True)
    ramp: RampCfg | None = field(default=None, kw_only=True)
    """Lets a reward that helps to begin fade out, or a penalty that hinders the first steps come in slowly."""


@dataclass
class DoneTermCfg(TermCfg):
    """End of an episode when func returns True, (N,) bool."""

    time_out: bool = field(default=False, kw_only=True)
    """The episode is cut off here rather than finished: its value goes on (truncation)."""


@dataclass
class ObservationTermCfg(TermCfg):
    """Part of an observation group: func returns (N, d), or (N, C, H, W); then noise, then scale, then clip."""

    noise: ranges.NonNegative = field(default=0.0, kw_only=True)
    """Half-width of the uniform noise added in groups with noise switched on, in units of the raw value."""
    scale: float = field(default=1.0, kw_only=True)
    clip: ranges.Interval | None = field(default=None, kw_only=True)


@dataclass(kw_only=True)
class ObservationGroupCfg:
    """Terms side by side in one vector, or images of one size in one stack of channels, with an optional history."""

    terms: dict[str, ObservationTermCfg]
    noise: bool = False
    """Whether the terms' noise is applied."""
    history: Annotated[int, ranges.Range(1, 1000)] = 1
    """Number of frames, oldest first, each frame with all terms; filled with the first frame at reset."""

    def unused_fields(self) -> dict[str, str]:
        if self.noise:
            return {}
        return {f"terms.{name}.noise": "the group's noise is switched off" for name in self.terms}


@dataclass
class EventTermCfg(TermCfg):
    """Something that happens to some worlds: ``func(env, env_ids, **params)``."""

    injected: typing.ClassVar[int] = 2

    mode: Literal["startup", "reset", "interval"] = field(default="reset", kw_only=True)
    interval_s: ranges.NonNegativeInterval | None = field(default=None, kw_only=True)
    """Time between two occurrences in one world, drawn uniformly from this range, seconds. Zero: in every step."""
    after: ranges.CountOrZero = field(default=0, kw_only=True)
    """Control steps of the training before which an interval event does not happen: what is hard can come late."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.validate()

    def validate(self) -> None:
        if (self.mode == "interval") != (self.interval_s is not None):
            raise UserError("interval_s goes with mode 'interval' and only with it")

    def unused_fields(self) -> dict[str, str]:
        unused = () if self.mode == "interval" else ("interval_s", "after")
        return dict.fromkeys(unused, f"the event's mode is {self.mode}")


@dataclass
class CurriculumTermCfg(TermCfg):
    """Changes difficulty when worlds reset: ``func(env, env_ids, **params)`` returns a number to log."""

    injected: typing.ClassVar[int] = 2


@dataclass
class MetricTermCfg(TermCfg):
    """A number per world, (N,), averaged over each episode, logged and reported by evaluation."""


@dataclass
class SuccessTermCfg(TermCfg):
    """Whether an episode that ends now is a success, (N,) bool. Published as ``extras["is_success"]``."""


@dataclass(kw_only=True)
class GoalCfg(HasParams):
    """Makes a task goal-conditioned: two observation groups of one size, and a reward that depends on nothing else.

    So a learner can pay any step for any goal (hindsight). The task's one reward term is then `mdp.goal_reward`.
    """

    reward: Callable[..., Any] = field(metadata=takes("achieved", "desired"))
    """``reward(achieved, desired, **params)``: goals (…, d) to rewards (…,)."""
    params: dict[str, Any] = field(default_factory=dict)
    achieved: str = "achieved_goal"
    """The observation group with what has been reached."""
    desired: str = "desired_goal"
    """The observation group with what is to be reached."""

    def __post_init__(self) -> None:
        self.params = _complete(self.reward, self.params, injected=2)


@dataclass(kw_only=True)
class ActionTermCfg:
    """Base of action configs: what one part of the action vector does."""

    noise: ranges.NonNegative = 0.0
    """Standard deviation of Gaussian noise on the applied action. Observations show the action without it."""
    latency: Annotated[tuple[Latency, Latency], ranges.Rising()] = (0, 0)
    """Delay of the applied action in control steps, drawn per world at reset from this range, both ends included."""
    clip: ranges.Positive = 100.0
    """Bound on the raw action."""

    def build(self, name: str, env: Any) -> Any:
        """The term that carries this config out."""
        raise NotImplementedError(f"{type(self).__name__} has no build()")


@dataclass(kw_only=True)
class CommandTermCfg:
    """Base of command configs: what the robot is asked to do."""

    resampling_s: ranges.PositiveInterval | None = None
    """Time between two samples, drawn uniformly from this range, seconds. None: one command per episode."""

    def build(self, name: str, env: Any) -> Any:
        """The term that carries this config out."""
        raise NotImplementedError(f"{type(self).__name__} has no build()")


@dataclass(kw_only=True)
class ManagerBasedEnvCfg:
    """A scene that can be played back: no observations, no rewards."""

    scene: SceneCfg
    simulation: SimulationCfg = field(default_factory=SimulationCfg)
    num_envs: Annotated[int, ranges.Range(1, 1_000_000)] = 1
    """Number of worlds."""
    decimation: Annotated[int, ranges.Range(1, 1000)] = 1
    """Physics steps per control step."""
    playback: Callable[..., Any] | None = field(default=None, metadata=takes("env", "step"))
    """``playback(env, step)`` sets controls, or the state, before each control step. None leaves controls at zero."""
    camera: str | None = None
    """Camera of videos, by its name in the compiled scene. None: a free camera."""

    @property
    def control_dt(self) -> float:
        """Seconds per control step."""
        return self.simulation.dt * self.decimation


@dataclass(kw_only=True)
class ManagerBasedRlEnvCfg(ManagerBasedEnvCfg):
    """A task: what is observed, done, rewarded, and when it ends."""

    episode_length_s: ranges.Seconds
    actions: dict[str, ActionTermCfg]
    observations: dict[str, ObservationGroupCfg]
    """Groups by name; ``policy`` is what the actor sees, ``critic`` what the critic sees."""
    rewards: dict[str, RewardTermCfg]
    terminations: dict[str, DoneTermCfg]
    commands: dict[str, CommandTermCfg] = field(default_factory=dict)
    events: dict[str, EventTermCfg] = field(default_factory=dict)
    curriculum: dict[str, CurriculumTermCfg] = field(default_factory=dict)
    metrics: dict[str, MetricTermCfg] = field(default_factory=dict)
    success: SuccessTermCfg | None = None
    goal: GoalCfg | None = None
    """For goal-conditioned tasks."""
    scale_rewards_by_dt: bool = True
    """Multiply rewards by the control time step, so that returns do not depend on the control rate."""
    auto_reset: bool = True
    """Start a new episode where one has ended, in the same step, as training and evaluation need. False: by `reset`."""

    @property
    def max_episode_length(self) -> int:
        """Control steps per episode."""
        return max(1, round(self.episode_length_s / self.control_dt))


def _complete(func: Callable[..., Any], params: dict[str, Any], injected: int) -> dict[str, Any]:
    """`params` with the defaults of `func`, of which the first `injected` arguments are not parameters."""
    accepted = list(inspect.signature(func).parameters.values())[injected:]
    names = [p.name for p in accepted]
    for name in params:
        if name not in names:
            raise UserError(f"{func.__qualname__} has no parameter '{name}'{hint(name, names)}")
    for p in accepted:
        if p.name not in params and p.default is inspect.Parameter.empty:
            raise UserError(f"{func.__qualname__} needs the parameter '{p.name}'")
    return {p.name: _frozen(params.get(p.name, p.default)) for p in accepted}


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list | tuple) else value
