"""Evaluation by protocol: every world counts the same, and the seed fixes everything."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from genelab.core.errors import RunStopped, UserError
from genelab.core.registry import find
from genelab.core.stats import summarize
from genelab.envs import ManagerBasedRlEnv, RewardTermCfg
from genelab.experiment.inference import setup_policy
from genelab.rl.backends.base import Policy
from genelab.rl.evaluator import evaluate, plan

TASK = "GeneLab-Inverted-Pendulum-v0"
MEMORY = "GeneLab-Inverted-Pendulum-Memory-v0"
SHORT = ("--env.episode_length_s", "1")


class Unruly(Policy):
    """Throws the cart about in the even worlds, keeps still in the others, and remembers when it was reset."""

    def __init__(self, num_envs: int):
        self._wild = (torch.arange(num_envs) % 2 == 0).float().unsqueeze(1)
        self.resets: list[list[int] | None] = []

    def act(self, obs: dict[str, Tensor], deterministic: bool = True) -> Tensor:
        return self._wild * 20.0 * torch.randn(len(self._wild), 1)

    def reset(self, env_ids: Tensor | None = None) -> None:
        self.resets.append(None if env_ids is None else env_ids.tolist())

    @property
    def module(self) -> nn.Module:
        raise NotImplementedError


@pytest.fixture
def env() -> Iterator[ManagerBasedRlEnv]:
    """Eight pendulums that are cut off after one second."""
    cfg = find(TASK).env_cfg(play=True)
    cfg.num_envs, cfg.episode_length_s = 8, 1.0
    made = ManagerBasedRlEnv(cfg)
    yield made
    made.close()


@pytest.fixture(scope="session")
def memory_checkpoint(tmp_path_factory: pytest.TempPathFactory, train_tiny: Callable[..., Any]) -> Path:
    run, _ = train_tiny(
        tmp_path_factory.mktemp("memory") / "run", task=MEMORY, env__num_envs=8, agent__max_iterations=1
    )
    return run.directory / "model_final.pt"


def without_clock(record: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value for key, value in record.items() if key not in ("wall_clock_seconds", "evaluated_at", "checksum")
    }


@given(st.integers(1, 5000), st.integers(1, 5000))
def test_the_plan_reaches_the_episodes_with_an_equal_quota_on_at_most_the_given_worlds(
    episodes: int, worlds: int
) -> None:
    protocol = plan(episodes, worlds)
    assert 1 <= protocol.num_envs <= worlds
    assert protocol.episodes == protocol.num_envs * protocol.episodes_per_env >= episodes


@given(st.integers(1, 5000), st.integers(1, 5000))
def test_the_plan_wastes_less_than_one_episode_per_quota(episodes: int, worlds: int) -> None:
    protocol = plan(episodes, worlds)
    assert protocol.episodes - episodes < protocol.episodes_per_env


def test_a_hundred_episodes_on_at_most_64_worlds_are_50_worlds_with_two_each() -> None:
    protocol = plan(100, 64)
    assert (protocol.num_envs, protocol.episodes_per_env) == (50, 2)


@pytest.mark.parametrize(("episodes", "worlds"), [(0, 1), (1, 0), (-1, 4)])
def test_a_plan_for_nothing_is_an_error(episodes: int, worlds: int) -> None:
    with pytest.raises(UserError, match="at least one episode and one world"):
        plan(episodes, worlds)


def test_every_world_contributes_its_quota_even_if_some_fall_much_earlier(env: ManagerBasedRlEnv) -> None:
    result = evaluate(env, Unruly(8), episodes_per_env=3)
    lengths: dict[int, int] = Counter()
    for world, length in zip(result["episodes"]["world"], result["episodes"]["length"], strict=True):
        lengths[world] += length
    assert max(lengths[w] for w in range(0, 8, 2)) < min(lengths[w] for w in range(1, 8, 2))
    assert Counter(result["episodes"]["world"]) == dict.fromkeys(range(8), 3)
    assert result["num_episodes"] == 24
    assert result["complete"]


def test_the_episodes_that_count_are_the_first_of_each_world(env: ManagerBasedRlEnv) -> None:
    short = evaluate(env, Unruly(8), episodes_per_env=1)["episodes"]
    long = evaluate(env, Unruly(8), episodes_per_env=3)["episodes"]
    first = {}
    for world, value in zip(long["world"], long["return"], strict=True):
        first.setdefault(world, value)
    assert dict(zip(short["world"], short["return"], strict=True)) == first


def test_the_same_seed_gives_the_same_episodes_in_the_same_environment(env: ManagerBasedRlEnv) -> None:
    once = evaluate(env, Unruly(8), 2, seed=5)
    again = evaluate(env, Unruly(8), 2, seed=5)
    assert without_clock(once) == without_clock(again)


def test_another_seed_gives_other_episodes(env: ManagerBasedRlEnv) -> None:
    once = evaluate(env, Unruly(8), 2, seed=5)
    other = evaluate(env, Unruly(8), 2, seed=6)
    assert once["episodes"]["return"] != other["episodes"]["return"]


def test_the_global_generator_is_left_as_it_was(env: ManagerBasedRlEnv) -> None:
    before = torch.get_rng_state()
    evaluate(env, Unruly(8), 1)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_global_generator_does_not_change_the_result(env: ManagerBasedRlEnv) -> None:
    torch.manual_seed(1)
    once = evaluate(env, Unruly(8), 1)
    torch.manual_seed(2)
    assert without_clock(evaluate(env, Unruly(8), 1)) == without_clock(once)


def test_a_policy_forgets_all_worlds_at_the_start_and_each_world_when_its_episode_ends(env: ManagerBasedRlEnv) -> None:
    policy = Unruly(8)
    result = evaluate(env, policy, episodes_per_env=1)
    assert policy.resets[0] is None
    ended = [world for reset in policy.resets[1:] for world in reset or []]
    assert set(ended) == set(range(8))
    assert len(ended) >= result["num_episodes"]


def test_a_recurrent_policy_forgets_the_finished_worlds_and_no_others(memory_checkpoint: Path) -> None:
    _, inference, _ = setup_policy(MEMORY, memory_checkpoint, [], num_envs=4, say=lambda line: None)
    inference.policy.reset()
    inference.policy.act(inference.env.obs)
    before = [part.clone() for part in inference.policy.state]
    assert all(bool((part != 0).any(dim=-1).all()) for part in before)
    inference.policy.reset(torch.tensor([1, 3]))
    for part, old in zip(inference.policy.state, before, strict=True):
        assert bool((part[:, [1, 3]] == 0).all())
        assert torch.equal(part[:, [0, 2]], old[:, [0, 2]])
    inference.env.close()


def test_a_recurrent_policy_evaluates_the_same_twice(memory_checkpoint: Path) -> None:
    _, inference, _ = setup_policy(MEMORY, memory_checkpoint, [], num_envs=4, say=lambda line: None)
    once = evaluate(inference.env, inference.policy, 2, seed=3)
    again = evaluate(inference.env, inference.policy, 2, seed=3)
    assert without_clock(once) == without_clock(again)
    inference.env.close()


def test_loading_a_policy_leaves_the_global_generator_as_it_was(trained_run: Path) -> None:
    before = torch.get_rng_state()
    _, inference, _ = setup_policy(TASK, trained_run / "model_final.pt", [], num_envs=2, say=lambda line: None)
    assert torch.equal(torch.get_rng_state(), before)
    inference.env.close()


def test_an_evaluation_cut_short_says_that_it_is_not_complete(env: ManagerBasedRlEnv) -> None:
    result = evaluate(env, Unruly(8), 50, max_steps=200)
    assert not result["complete"]
    assert result["steps"] == 200
    assert 0 < result["num_episodes"] < 8 * 50


def test_an_evaluation_without_any_finished_episode_is_an_error(env: ManagerBasedRlEnv) -> None:
    with pytest.raises(UserError, match="no episode ended within 0 steps"):
        evaluate(env, Unruly(8), 1, max_steps=0)


def test_reward_terms_add_up_to_the_return(env: ManagerBasedRlEnv) -> None:
    metrics = evaluate(env, Unruly(8), 2)["metrics"]
    assert sum(metrics["reward_terms"].values()) == pytest.approx(metrics["return_mean"], rel=1e-4)
    assert set(metrics["reward_terms"]) == set(env.cfg.rewards)


def test_success_is_reaching_the_end_of_the_episode(env: ManagerBasedRlEnv) -> None:
    result = evaluate(env, Unruly(8), 3)
    whole = [length == env.max_episode_length for length in result["episodes"]["length"]]
    assert result["episodes"]["success"] == whole
    assert result["metrics"]["success_rate"] == pytest.approx(sum(whole) / 24)


def test_a_task_without_success_has_no_success_rate() -> None:
    cfg = find(TASK).env_cfg(play=True)
    cfg.num_envs, cfg.episode_length_s, cfg.success = 4, 1.0, None
    env = ManagerBasedRlEnv(cfg)
    result = evaluate(env, Unruly(4), 1)
    env.close()
    assert result["metrics"]["success_rate"] is None
    assert "success" not in result["episodes"]


class Breaking(Policy):
    """Keeps still but for one action, in one world, that breaks the physics."""

    def __init__(self, num_envs: int):
        self._actions = torch.zeros(num_envs, 1)
        self._acted = False

    def act(self, obs: dict[str, Tensor], deterministic: bool = True) -> Tensor:
        actions = self._actions.clone()
        actions[0] = 0.0 if self._acted else math.nan
        self._acted = True
        return actions


def test_worlds_whose_physics_broke_down_are_counted(env: ManagerBasedRlEnv) -> None:
    assert evaluate(env, Breaking(env.num_envs), 1)["failed_worlds"] == 1
    assert evaluate(env, Unruly(env.num_envs), 1)["failed_worlds"] == 0


def test_a_policy_that_sees_what_is_not_finite_stops_the_evaluation_and_names_it(trained_run: Path) -> None:
    checkpoint = trained_run / "model_final.pt"
    _, inference, _ = setup_policy(TASK, checkpoint, [], num_envs=2, say=lambda line: None)
    for deterministic in (True, False):
        obs = {name: torch.full_like(value, math.nan) for name, value in inference.env.obs.items()}
        with pytest.raises(RunStopped, match="observation group 'policy' is not finite"):
            inference.policy.act(obs, deterministic)
    inference.env.close()


def test_a_reward_that_is_not_finite_stops_the_evaluation_and_names_its_term() -> None:
    cfg = find(TASK).env_cfg(play=True)
    cfg.num_envs, cfg.episode_length_s = 2, 0.1
    cfg.rewards["endless"] = RewardTermCfg(lambda env: torch.full((env.num_envs,), math.inf), weight=1.0)
    env = ManagerBasedRlEnv(cfg)
    with pytest.raises(RunStopped, match="reward term 'endless'"):
        evaluate(env, Unruly(2), 1)
    env.close()


def eval_json(cli: Callable[..., Any], checkpoint: Path, out: Path, *flags: object) -> dict[str, Any]:
    outcome = cli("eval", TASK, checkpoint, "--num-envs", 8, "--episodes", 16, "--out", out, *SHORT, *flags)
    assert outcome.code == 0, outcome.err
    return json.loads(out.read_text())


def test_eval_json_has_every_documented_field(cli: Callable[..., Any], trained_run: Path, tmp_path: Path) -> None:
    record = eval_json(cli, trained_run / "model_final.pt", tmp_path / "eval.json")
    documented = {
        *("task", "checkpoint", "num_episodes", "metrics", "wall_clock_seconds", "seed", "deterministic"),
        *("evaluated_at", "engine", "versions", "git_commit", "config_hash", "failed_worlds"),
    }
    assert documented <= set(record)
    metrics = {"return_mean", "return_std", "return_ci95", "length_mean", "length_ci95", "success_rate", "reward_terms"}
    assert metrics <= set(record["metrics"])
    assert record["task"] == TASK
    assert record["checkpoint"] == str(trained_run / "model_final.pt")
    assert (record["num_episodes"], record["seed"], record["deterministic"]) == (16, 0, True)
    assert all(len(values) == 16 for values in record["episodes"].values())


def test_the_metrics_in_eval_json_are_those_of_its_episodes(
    cli: Callable[..., Any], trained_run: Path, tmp_path: Path
) -> None:
    record = eval_json(cli, trained_run / "model_final.pt", tmp_path / "eval.json")
    stats = summarize(record["episodes"]["return"])
    assert record["metrics"]["return_mean"] == stats.mean
    assert record["metrics"]["return_std"] == stats.std
    assert record["metrics"]["return_ci95"] == stats.ci95


def test_the_command_gives_the_same_numbers_twice(cli: Callable[..., Any], trained_run: Path, tmp_path: Path) -> None:
    checkpoint = trained_run / "model_final.pt"
    once = eval_json(cli, checkpoint, tmp_path / "1.json", "--stochastic")
    again = eval_json(cli, checkpoint, tmp_path / "2.json", "--stochastic")
    assert without_clock(once) == without_clock(again)


@pytest.mark.parametrize("flags", [("--noise", "--no-noise"), ("--deterministic", "--stochastic")])
def test_switching_noise_or_sampling_changes_the_episodes(
    flags: tuple[str, str], cli: Callable[..., Any], trained_run: Path, tmp_path: Path
) -> None:
    one, other = (
        eval_json(cli, trained_run / "model_final.pt", tmp_path / f"{flag}.json", flag)["episodes"]["return"]
        for flag in flags
    )
    assert one != other


def test_noise_and_mean_actions_are_the_default(cli: Callable[..., Any], trained_run: Path, tmp_path: Path) -> None:
    checkpoint = trained_run / "model_final.pt"
    default = eval_json(cli, checkpoint, tmp_path / "1.json")
    spelled = eval_json(cli, checkpoint, tmp_path / "2.json", "--noise", "--deterministic", "--seed", 0)
    assert without_clock(default) == without_clock(spelled)


def test_a_policy_is_evaluated_in_the_task_it_was_trained_in(
    cli: Callable[..., Any], train_tiny: Callable[..., Any], tmp_path: Path
) -> None:
    run, _ = train_tiny(tmp_path / "run", env__rewards__alive__weight=100, agent__max_iterations=1)
    outcome = cli(
        "eval", TASK, run.directory / "model_final.pt", "--episodes", 2, "--out", tmp_path / "eval.json", *SHORT
    )
    assert "from the run: env.rewards.alive.weight: 1.0 -> 100.0" in outcome.out
    record = json.loads((tmp_path / "eval.json").read_text())
    assert record["metrics"]["reward_terms"]["alive"] == pytest.approx(record["metrics"]["length_mean"], rel=1e-3)


def test_eval_json_says_whether_there_was_noise(
    cli: Callable[..., Any], train_tiny: Callable[..., Any], tmp_path: Path
) -> None:
    run, _ = train_tiny(tmp_path / "run", env__observations__policy__noise="false", agent__max_iterations=1)
    checkpoint = run.directory / "model_final.pt"
    noiseless = eval_json(cli, checkpoint, tmp_path / "2.json", "--no-noise")
    claimed = eval_json(cli, checkpoint, tmp_path / "3.json", "--noise")
    assert (claimed["noise"] is True) == (claimed["episodes"]["return"] != noiseless["episodes"]["return"])
