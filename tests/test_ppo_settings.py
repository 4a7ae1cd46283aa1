"""Settings of PPO that rsl_rl does not have, each against values worked out by hand, and resumed exactly."""

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.distributions import Normal

from genelab.core.errors import UserError
from genelab.core.registry import find
from genelab.envs import ManagerBasedRlEnv
from genelab.experiment.setup import resolve
from genelab.rl.cfg import RslRlModelCfg, RslRlOnPolicyRunnerCfg, RslRlPpoCfg
from genelab.rl.methods.base import batch_of
from genelab.rl.model_cfg import RslRlDistributionCfg, RslRlTanhNormalCfg
from genelab.rl.rsl_rl.learner import RslRlLearner, hold
from genelab.rl.rsl_rl.tanh_normal import TanhNormal
from runs import metrics

PENDULUM = "GeneLab-Inverted-Pendulum-v0"
WORLDS = 4


@pytest.fixture(scope="module")
def env() -> Iterator[ManagerBasedRlEnv]:
    cfg = find(PENDULUM).env_cfg(play=True)
    cfg.num_envs, cfg.simulation.threads = WORLDS, 1
    made = ManagerBasedRlEnv(cfg)
    yield made
    made.close()


def learner(env: ManagerBasedRlEnv, algorithm: RslRlPpoCfg | None = None, **settings: Any) -> RslRlLearner:
    cfg = RslRlOnPolicyRunnerCfg(
        algorithm=algorithm or RslRlPpoCfg(),
        actor=RslRlModelCfg(
            hidden_dims=(8,),
            distribution=settings.pop("distribution", RslRlTanhNormalCfg()),
            normalization_until=settings.pop("normalization_until", None),
        ),
        critic=RslRlModelCfg(hidden_dims=(8,)),
        **{"num_steps_per_env": 6, **settings},
    )
    env.reset(seed=0)
    torch.manual_seed(0)
    return RslRlLearner(env, cfg, infos={})


# The tanh-normal distribution


def tanh_normal(mean: float, spread: float, samples: int = 1) -> TanhNormal:
    """The distribution of a network that outputs these two numbers."""
    distribution = TanhNormal(1, init_std=1.0, min_std=0.001)
    distribution.update(torch.tensor([[[mean], [spread]]]).expand(samples, 2, 1))
    return distribution


def test_the_density_of_an_action_is_the_gaussian_s_over_the_slope_of_tanh() -> None:
    # std = log(1 + e^0) + 0.001; at u = 0.7: log N(0.7; 0.3, std) - log(1 - tanh(0.7)²)
    std = math.log(2.0) + 0.001
    gaussian = -0.5 * ((0.7 - 0.3) / std) ** 2 - math.log(std) - 0.5 * math.log(2 * math.pi)
    expected = gaussian - math.log(1.0 - math.tanh(0.7) ** 2)
    assert tanh_normal(0.3, 0.0).log_prob(torch.tensor([[0.7]])).item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("mean", "spread"), [(0.0, 0.0), (0.8, -1.0), (-1.5, 1.0)])
def test_the_densities_of_all_actions_add_up_to_one(mean: float, spread: float) -> None:
    actions = torch.linspace(-1.0, 1.0, 400_001, dtype=torch.float64)[1:-1]
    density = tanh_normal(mean, spread).log_prob(torch.atanh(actions).unsqueeze(1)).exp()
    assert float(density.sum() * 2.0 / 400_000) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("raw", [-300.0, -30.0, 30.0, 300.0])
def test_the_density_is_finite_where_tanh_saturates(raw: float) -> None:
    output = torch.tensor([[[raw], [0.0]]], requires_grad=True)
    distribution = TanhNormal(1, init_std=1.0, min_std=0.001)
    distribution.update(output)
    log_prob = distribution.log_prob(torch.tensor([[raw]]))
    # log(1 - tanh(u)²) is 2 (log 2 - |u|) there, and the Gaussian is at its mode
    peak = -math.log(math.log(2.0) + 0.001) - 0.5 * math.log(2 * math.pi)
    assert log_prob.item() == pytest.approx(peak - 2.0 * (math.log(2.0) - abs(raw)), rel=1e-5)
    distribution.sample()
    (log_prob + distribution.entropy).sum().backward()
    assert output.grad is not None
    assert bool(output.grad.isfinite().all())


def test_the_entropy_is_that_of_the_actions_in_the_mean() -> None:
    # -∫ p log p over the actions, by a sum over raw actions u: log p(a) = log N(u) - log(1 - tanh(u)²)
    mean, std = 0.5, math.log1p(math.e) + 0.001
    u = torch.linspace(mean - 8 * std, mean + 8 * std, 200_001, dtype=torch.float64)
    gaussian = Normal(mean, std).log_prob(u)
    log_p = gaussian - torch.log1p(-u.tanh().square())
    expected = -float((gaussian.exp() * log_p).sum() * (u[1] - u[0]))
    torch.manual_seed(0)
    distribution = tanh_normal(mean, 1.0, samples=200_000)
    distribution.sample()
    assert float(distribution.entropy.mean()) == pytest.approx(expected, abs=0.01)


def test_the_divergence_is_that_of_the_gaussians() -> None:
    old, new = (torch.tensor([[0.0]]), torch.tensor([[1.0]])), (torch.tensor([[0.5]]), torch.tensor([[2.0]]))
    # log(2 / 1) + (1² + 0.5²) / (2 * 2²) - 1 / 2
    expected = math.log(2.0) + 1.25 / 8.0 - 0.5
    assert tanh_normal(0.0, 0.0).kl_divergence(old, new).item() == pytest.approx(expected)


def test_raw_actions_are_stored_and_their_tanh_is_carried_out(env: ManagerBasedRlEnv) -> None:
    method: Any = learner(env).method
    with torch.no_grad():
        carried_out = method.act(batch_of(env, env.obs))
    raw = method.transition.actions
    assert torch.equal(carried_out, raw.tanh())
    torch.testing.assert_close(method.transition.actions_log_prob, method.actor.get_output_log_prob(raw).detach())


def test_a_new_policy_has_the_standard_deviation_that_was_asked_for(env: ManagerBasedRlEnv) -> None:
    method: Any = learner(env, distribution=RslRlTanhNormalCfg(init_std=0.4, min_std=0.1)).method
    method.act(batch_of(env, env.obs))
    torch.testing.assert_close(method.actor.output_std, torch.full((WORLDS, 1), 0.4))


def test_the_deterministic_action_is_tanh_of_the_mean(env: ManagerBasedRlEnv) -> None:
    made = learner(env)
    actor: Any = made.networks()["actor"]
    obs = batch_of(env, env.obs)
    with torch.no_grad():
        actor(obs, stochastic_output=True)
        mean, _ = actor.output_distribution_params
        torch.testing.assert_close(made.trained_policy().act(env.obs), mean.tanh())
        torch.testing.assert_close(actor.output_mean, mean.tanh())


def test_tanh_normal_is_chosen_by_name_and_refuses_what_it_does_not_read(mistake: Callable[..., str]) -> None:
    changes = [("agent.actor.distribution", "tanh_normal"), ("agent.actor.distribution.min_std", "0.01")]
    assert resolve(PENDULUM, overrides=changes).agent_cfg.actor.distribution.min_std == 0.01
    chosen = ("train", PENDULUM, "--agent.actor.distribution", "tanh_normal")
    assert "std_range would have no effect" in mistake(*chosen, "--agent.actor.distribution.std_range", "0.1,1")
    error = mistake(*chosen, "--agent.actor.distribution.init_std", "0.001")
    assert "agent.actor.distribution.init_std must be above min_std, 0.001, not 0.001" in error
    assert "expects gaussian|tanh_normal" in mistake("train", PENDULUM, "--agent.actor.distribution", "tanh")


# Returns: scaled rewards, normalised targets, several rollouts


def filled(method: Any, rewards: list[float], values: list[float]) -> None:
    """Put a rollout into the storage in which all worlds earn the same, are judged the same, and none ends."""
    storage = method.storage
    storage.rewards[:] = torch.tensor(rewards).view(-1, 1, 1)
    storage.values[:] = torch.tensor(values).view(-1, 1, 1)
    storage.dones[:] = 0
    storage.step = len(rewards)


def constant_critic(method: Any, output: float) -> None:
    last = [layer for layer in method.critic.mlp if isinstance(layer, torch.nn.Linear)][-1]
    torch.nn.init.zeros_(last.weight)
    torch.nn.init.constant_(last.bias, output)


def test_the_critic_learns_normalised_returns_and_is_read_in_real_ones(env: ManagerBasedRlEnv) -> None:
    settings = RslRlPpoCfg(normalize_v_targets=True, gamma=0.5, lam=1.0)
    method: Any = learner(env, settings, num_steps_per_env=2).method
    method.train_mode()
    method.value_normalizer._mean[:], method.value_normalizer._std[:] = 10.0, 1.99  # it divides by std + 0.01
    constant_critic(method, 3.0)  # the last observation is worth 3 * 2 + 10 = 16
    filled(method, rewards=[4.0, 8.0], values=[0.0, 1.0])  # worth 10 and 12
    method.compute_returns(batch_of(env, env.obs))
    method.compute_advantages()
    # returns 8 + 0.5 * 16 = 16 and 4 + 0.5 * 16 = 12; advantages 12 - 10 = 2 and 16 - 12 = 4
    advantages = torch.tensor([2.0, 4.0]).repeat_interleave(WORLDS)
    expected = (advantages - 3.0) / advantages.std()
    torch.testing.assert_close(method.storage.advantages.flatten(), expected)
    # The first returns that were seen replace the statistics: mean 14, std 2.
    assert (float(method.value_normalizer.mean), float(method.value_normalizer.std)) == (14.0, 2.0)
    targets = torch.tensor([-2.0 / 2.01, 2.0 / 2.01]).repeat_interleave(WORLDS)
    torch.testing.assert_close(method.storage.returns.flatten(), targets)


def test_a_cut_off_episode_is_worth_the_real_value_of_its_last_observation(env: ManagerBasedRlEnv) -> None:
    method: Any = learner(env, RslRlPpoCfg(normalize_v_targets=True, reward_scale=10.0, gamma=0.5)).method
    method.value_normalizer._mean[:], method.value_normalizer._std[:] = 10.0, 1.99
    constant_critic(method, 3.0)
    obs = batch_of(env, env.obs)
    time_outs = torch.tensor([True, False, False, False])
    with torch.no_grad():
        method.act(obs)
        method.process_env_step(obs, torch.ones(4), time_outs, {"time_outs": time_outs, "final_obs": env.obs})
    # 10 * 1 + 0.5 * 16: the reward is scaled, the value already is
    assert method.storage.rewards[0].flatten().tolist() == [18.0, 10.0, 10.0, 10.0]


def test_each_rollout_of_an_iteration_ends_with_the_value_of_its_last_observation(env: ManagerBasedRlEnv) -> None:
    method: Any = learner(env, RslRlPpoCfg(gamma=0.5, lam=1.0), num_steps_per_env=2, num_unrolls=2).method
    constant_critic(method, 8.0)
    filled(method, rewards=[1.0, 2.0, 3.0, 4.0], values=[0.0] * 4)
    for end in (2, 4):
        method.storage.step = end
        method.compute_returns(batch_of(env, env.obs))
    # 2 + 0.5 * 8 = 6, 1 + 0.5 * 6 = 4; 4 + 0.5 * 8 = 8, 3 + 0.5 * 8 = 7. In one rollout of four: 3.75, 5.5, 7, 8
    assert method.storage.returns[:, 0, 0].tolist() == [4.0, 6.0, 7.0, 8.0]


def test_the_rollouts_of_an_iteration_are_learnt_from_together(env: ManagerBasedRlEnv) -> None:
    made = learner(env, num_steps_per_env=3, num_unrolls=2)
    steps = env.step_count
    made.run_iteration()
    assert (env.step_count - steps, made.steps) == (6, 6 * WORLDS)
    assert made.method.storage.num_transitions_per_env == 6  # type: ignore[attr-defined]


def test_logged_returns_are_not_scaled(tmp_path: Path, train_tiny: Callable[..., Any]) -> None:
    for scale in (1.0, 10.0):
        train_tiny(tmp_path / str(scale), agent__max_iterations=1, agent__algorithm__reward_scale=scale)
    plain, scaled = (metrics(tmp_path / str(scale))[0] for scale in (1.0, 10.0))
    assert scaled["return_mean"] == plain["return_mean"]  # both acted with the first weights
    assert scaled["loss/value"] > 10.0 * plain["loss/value"]


# Learning rates and mini-batches


def test_the_linear_rate_falls_from_the_first_to_the_smallest(tmp_path: Path, train_tiny: Callable[..., Any]) -> None:
    rates = {"schedule": "linear", "learning_rate": 1e-3, "min_learning_rate": 2e-4}
    train_tiny(tmp_path, agent__max_iterations=4, **{f"agent__algorithm__{name}": v for name, v in rates.items()})
    assert [line["learning_rate"] for line in metrics(tmp_path)] == pytest.approx([1e-3, 8e-4, 6e-4, 4e-4])
    checkpoint = torch.load(tmp_path / "model_final.pt", weights_only=True)
    assert checkpoint["optimizer_state_dict"]["param_groups"][0]["lr"] == pytest.approx(4e-4)


@pytest.mark.parametrize(("until", "expected"), [(1.0, [0.02, 0.015, 0.0]), (0.5, [0.02, 0.01, 0.0])])
def test_the_entropy_s_weight_falls_to_zero_over_a_share_of_the_training(
    env: ManagerBasedRlEnv, until: float, expected: list[float]
) -> None:
    method: Any = learner(env, RslRlPpoCfg(entropy_coef=0.02, decay_entropy=True, entropy_until=until)).method
    weights = []
    for progress in (0.0, 0.25, 1.0):
        method.start_iteration(progress)
        weights.append(method.entropy_coef)
    assert weights == pytest.approx(expected)


@pytest.mark.parametrize("std_type", ["scalar", "log"])
@pytest.mark.parametrize(
    ("between", "expected"),
    [((0.0, 1.0), [0.5, 0.3, 0.1]), ((0.5, 0.75), [0.5, 0.5, 0.1]), ((0.5, 0.5), [0.5, 0.1, 0.1])],
)
def test_the_deviation_s_upper_bound_falls_over_the_training(
    env: ManagerBasedRlEnv, std_type: Any, between: tuple[float, float], expected: list[float]
) -> None:
    distribution = RslRlDistributionCfg(init_std=0.5, final_std=0.1, final_std_between=between, std_type=std_type)
    method: Any = learner(env, distribution=distribution).method
    deviations = []
    for progress in (0.0, 0.5, 1.0):
        method.start_iteration(progress)
        method.act(batch_of(env, env.obs))
        deviations.append(float(method.actor.output_std.detach().max()))
        (gradient,) = torch.autograd.grad(method.actor.output_std.sum(), list(method.actor.distribution.parameters()))
        assert gradient.abs().min() > 0.0  # it may fall below its bound
    assert deviations == pytest.approx(expected)


@pytest.mark.parametrize("final", [0.01, 0.6])
def test_a_deviation_falls_to_what_its_bounds_allow(final: float) -> None:
    distribution = RslRlDistributionCfg(init_std=0.5, std_range=(0.05, 1.0), final_std=final)
    with pytest.raises(UserError, match=r"final_std must be 0.05 to 0.5, not"):
        distribution.validate()


def test_a_bonus_that_does_not_fall_has_no_end() -> None:
    assert "entropy_until" in RslRlPpoCfg().unused_fields()
    assert "entropy_until" not in RslRlPpoCfg(decay_entropy=True).unused_fields()


def test_observations_are_normalised_by_the_first_samples_if_so_told(env: ManagerBasedRlEnv) -> None:
    method: Any = learner(env, normalization_until=10).method
    group = env.obs["policy"].shape[1]
    for value in (1.0, 3.0, 100.0):  # 2 x 6 samples are more than ten
        method.actor.obs_normalizer.update(torch.full((6, group), value))
    assert method.actor.obs_normalizer.mean.tolist() == pytest.approx([2.0] * group)


def test_a_fixed_rate_does_not_decay(tmp_path: Path, train_tiny: Callable[..., Any]) -> None:
    # The preset cpu of the task lets the bound of the adaptive rate fall, which a fixed one does not have.
    train_tiny(tmp_path, agent__max_iterations=3, agent__algorithm__schedule="fixed")
    assert [line["learning_rate"] for line in metrics(tmp_path)] == [1e-3] * 3


@pytest.mark.parametrize(("most", "divergence"), [(None, 12.625 / 4), (2.0, 4.625 / 4), (0.5, 1.625 / 4)])
def test_a_state_counts_in_the_divergence_with_so_much_at_most(
    env: ManagerBasedRlEnv, most: float | None, divergence: float
) -> None:
    method: Any = learner(env, RslRlPpoCfg(max_state_kl=most)).method
    # Gaussians of deviation 1 whose means are so far apart diverge by half of its square: 0.125, 0.5, 2 and 10
    shift, ones = torch.tensor([[0.5], [1.0], [2.0], [20.0**0.5]]), torch.ones(4, 1)
    batch = SimpleNamespace(old_distribution_params=(torch.zeros(4, 1), ones))
    assert float(method.divergence(batch, (shift, ones))) == pytest.approx(divergence)


@pytest.mark.parametrize(("size", "number"), [(768, 1), (500, 2), (384, 2), (100, 8), (1, 768)])
def test_mini_batches_of_a_size_are_as_few_as_keep_it(size: int, number: int) -> None:
    assert RslRlPpoCfg(mini_batch_size=size).mini_batches(768) == number


def test_an_epoch_has_the_mini_batches_that_their_size_asks_for(env: ManagerBasedRlEnv) -> None:
    made = learner(env, RslRlPpoCfg(mini_batch_size=8, num_learning_epochs=2))  # of 24 samples
    made.run_iteration()
    assert made.optimiser_steps == 2 * 3


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("algorithm.min_learning_rate 1e-5", "would have no effect: the schedule of the learning rate is adaptive"),
        ("algorithm.schedule linear --agent.algorithm.desired_kl 0.1", "the learning rate is linear"),
        ("algorithm.schedule linear --agent.algorithm.min_learning_rate 1", "min_learning_rate must be at most 0.001"),
        ("algorithm.mini_batch_size 8 --agent.algorithm.num_mini_batches 2", "mini_batch_size is given"),
        ("action_repeat 2 --agent.actor.rnn_type lstm", "action_repeat goes with networks without memory"),
        (
            "algorithm.mini_batch_size 8 --agent.actor.rnn_type gru --agent.algorithm.symmetry none --num-envs 2",
            "agent.algorithm.mini_batch_size asks for 12 mini-batches of 2 worlds",
        ),
    ],
)
def test_settings_that_do_not_go_together_are_refused(options: str, reason: str, mistake: Callable[..., str]) -> None:
    assert reason in mistake("train", PENDULUM, *f"--agent.{options}".split())


# Held actions


class Script:
    """Worlds that earn 1, 10 and 100 a control step. The second falls in step 2, the third is out of time in step 3."""

    def __init__(self) -> None:
        self.actions: list[list[float]] = []

    def step(self, actions: Tensor) -> Any:
        self.actions.append(actions.flatten().tolist())
        now = len(self.actions)
        obs = {"policy": torch.full((3, 2), float(now))}
        fallen, over = torch.tensor([False, now == 2, False]), torch.tensor([False, False, now == 3])
        return obs, torch.tensor([1.0, 10.0, 100.0]), fallen, over, {"final_obs": {"policy": -obs["policy"]}}


def test_a_held_action_earns_what_its_control_steps_earn_until_the_episode_ends() -> None:
    script = Script()
    chosen = iter([torch.full((3, 1), 7.0), torch.full((3, 1), 8.0)])
    obs, rewards, terminated, truncated, extras = hold(
        script.step, torch.tensor([[1.0], [2.0], [3.0]]), 4, lambda obs: next(chosen)
    )
    assert rewards.tolist() == [4.0, 20.0, 300.0]
    assert (terminated.tolist(), truncated.tolist()) == ([False, True, False], [False, False, True])
    assert extras["final_obs"]["policy"][:, 0].tolist() == [-4.0, -2.0, -3.0]
    assert obs["policy"][0, 0] == 4.0
    assert script.actions == [[1, 2, 3], [1, 2, 3], [1, 7, 3], [1, 7, 8]]  # a new episode has an action of its own


@pytest.mark.parametrize("deterministic", [True, False])
def test_a_policy_holds_its_actions_from_the_start_of_each_episode(env: ManagerBasedRlEnv, deterministic: bool) -> None:
    policy = learner(env, action_repeat=3).trained_policy()
    actions = []
    for step in range(8):
        if step == 4:
            policy.reset(torch.tensor([1]))
        actions.append(policy.act(env.obs, deterministic))
        env.step(actions[-1])
    held = torch.stack(actions).squeeze(-1)  # (8, N)
    for world, starts in ((0, [0, 0, 0, 3, 3, 3, 6, 6]), (1, [0, 0, 0, 3, 4, 4, 4, 7])):
        assert torch.equal(held[:, world], held[starts, world])
        assert len(held[:, world].unique()) == len(set(starts))


def test_frames_are_control_steps(env: ManagerBasedRlEnv) -> None:
    made = learner(env, action_repeat=3)
    steps = env.step_count
    made.run_iteration()
    assert (env.step_count - steps, made.steps) == (18, 18 * WORLDS)


# Exact resume


SETTINGS: dict[str, dict[str, Any]] = {
    "tanh_normal": {"actor__distribution": "tanh_normal"},
    "targets": {"algorithm__normalize_v_targets": True, "algorithm__reward_scale": 10},
    "linear": {"algorithm__schedule": "linear", "algorithm__min_learning_rate": 1e-4, "algorithm__mini_batch_size": 96},
    "deviation": {"actor__distribution__final_std": 0.1},
    "entropy": {"algorithm__decay_entropy": True, "algorithm__entropy_until": 0.8, "actor__normalization_until": 100},
    "rollouts": {"num_unrolls": 2, "num_steps_per_env": 8, "action_repeat": 3},
}


@pytest.mark.parametrize("kind", SETTINGS)
def test_a_run_with_these_settings_resumes_exactly(
    kind: str, tmp_path: Path, train_tiny: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from genelab.experiment.run.directory import Run
    from genelab.experiment.train import resume

    settings = {f"agent__{name}": value for name, value in SETTINGS[kind].items()}
    _, whole = train_tiny(tmp_path / "whole", agent__max_iterations=4, **settings)
    log = Run.log

    def stop_after_two(run: Run, iteration: int, *rest: Any) -> None:
        log(run, iteration, *rest)
        run.stop_requested = iteration == 2

    with monkeypatch.context() as patch:
        patch.setattr(Run, "log", stop_after_two)
        train_tiny(tmp_path / "part", agent__max_iterations=4, **settings)
    assert len(metrics(tmp_path / "part")) == 2
    _, resumed = resume(PENDULUM, tmp_path / "part", [], say=lambda line: None)
    assert resumed.weights_sha256 == whole.weights_sha256
    assert metrics(tmp_path / "part") == metrics(tmp_path / "whole")


def test_the_statistics_of_value_targets_are_part_of_checkpoints(
    tmp_path: Path, train_tiny: Callable[..., Any], cli: Callable[..., Any]
) -> None:
    _, result = train_tiny(tmp_path / "run", agent__algorithm__normalize_v_targets=True)
    stored = torch.load(result.checkpoint, weights_only=True)["value_normalizer_state_dict"]
    samples = 16 * json.loads((tmp_path / "run/params/agent.json").read_text())["num_steps_per_env"]
    assert int(stored["count"]) == 3 * samples
    assert cli("eval", PENDULUM, result.checkpoint, "--episodes", 2).code == 0


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("algorithm__normalize_v_targets", "true", "its critic has agent.algorithm.normalize_v_targets false"),
        ("actor__distribution", "tanh_normal", "the checkpoint does not fit the agent"),
    ],
)
def test_a_training_does_not_begin_with_a_checkpoint_that_means_something_else(
    path: str, value: str, reason: str, tmp_path: Path, trained_run: Path, train_tiny: Callable[..., Any]
) -> None:
    with pytest.raises(UserError, match=reason):
        train_tiny(tmp_path / "run", checkpoint=trained_run / "model_final.pt", **{f"agent__{path}": value})
