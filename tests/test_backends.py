"""skrl and stable-baselines3: training, exact resume, export, final observations, hindsight, demonstrations."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from genelab.core.errors import UserError
from genelab.core.registry import find
from genelab.envs import ManagerBasedRlEnv
from genelab.experiment.export import ExportRequest, run_export
from genelab.experiment.run.directory import Run
from genelab.experiment.train import TrainRequest, resume, train
from genelab.rl.backends import BACKENDS, learner_class, load_policy
from genelab.rl.checkpoint import read_checkpoint
from genelab.rl.demos import write_demos
from genelab.rl.eval_callback import EvalSettings
from goal_task import GOAL_TASK, SPEC

pytest.importorskip("skrl")
pytest.importorskip("stable_baselines3")

TASK = "GeneLab-Inverted-Pendulum-v0"
ON_POLICY, OFF_POLICY = ("PPO", "A2C"), ("SAC", "TD3", "DDPG")
ALL = [(backend, algorithm) for backend in ("skrl", "sb3") for algorithm in (*ON_POLICY, *OFF_POLICY)]
OFF = [(backend, algorithm) for backend, algorithm in ALL if algorithm in OFF_POLICY]
ON = [(backend, algorithm) for backend, algorithm in ALL if algorithm in ON_POLICY]
each = pytest.mark.parametrize(("backend", "algorithm"), ALL)

WORLDS = 4
SMALL = {
    "env.num_envs": WORLDS,
    "env.episode_length_s": 0.2,
    "agent.hidden_dims": "16,16",
    "agent.max_iterations": 240,
    "agent.save_interval": 80,
}
"""60 control steps of 4 worlds with episodes of 20, so that everything begins, wraps around and ends."""
FAMILY = {
    True: {"agent.on_policy.num_steps": 10},
    False: {
        "agent.off_policy.learning_starts": 40,
        "agent.off_policy.buffer_size": 160,
        "agent.off_policy.batch_size": 16,
        "agent.off_policy.log_interval": 10,
    },
}


@pytest.fixture(autouse=True)
def goal_task(monkeypatch: pytest.MonkeyPatch, offer: Callable[..., None]) -> None:
    offer(SPEC)
    monkeypatch.delenv("GENELAB_SB3_DEMO_PATH", raising=False)


def settings(algorithm: str, **more: object) -> list[tuple[str, str]]:
    changes = {**SMALL, **FAMILY[algorithm in ON_POLICY], "agent.algorithm": algorithm}
    changes |= {path.replace("__", "."): value for path, value in more.items()}
    return [(path, str(value)) for path, value in changes.items()]


def run_small(directory: Path, backend: str, algorithm: str, task: str = TASK, evaluation: Any = None, **more: object):
    request = TrainRequest(task, settings(algorithm, **more), backend=backend, log_dir=directory, evaluation=evaluation)
    return train(request, say=lambda line: None)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[Run, Any]]:
    """A finished small run of a backend's algorithm, made once."""
    made: dict[tuple[str, str, str], tuple[Run, Any]] = {}

    def get(backend: str, algorithm: str, task: str = TASK) -> tuple[Run, Any]:
        key = (backend, algorithm, task)
        if key not in made:
            made[key] = run_small(tmp_path_factory.mktemp("run") / "run", backend, algorithm, task)
        return made[key]

    return get


def learner(backend: str, algorithm: str, task: str = TASK, **more: object) -> Any:
    """A learner of its own, outside a run."""
    from genelab.experiment.setup import resolve

    setup = resolve(task, backend=backend, preset="reference", overrides=settings(algorithm, **more))
    env = ManagerBasedRlEnv(setup.env_cfg, seed=0)
    torch.manual_seed(0)
    return learner_class(setup.agent_cfg)(env, setup.agent_cfg, {"task": task})


@torch.no_grad()
def collect(one: Any, steps: int) -> None:
    """Act without learning."""
    for _ in range(steps):
        one.collect()
        one.control_steps += 1


def rates(one: Any) -> set[float]:
    """The learning rates of all optimisers."""
    owners = one.agent.checkpoint_modules if hasattr(one, "agent") else one.alg.get_parameters()
    states = {name: owner if isinstance(owner, dict) else owner.state_dict() for name, owner in owners.items()}
    return {group["lr"] for state in states.values() for group in state.get("param_groups", ())}


# Training, resume, export ---------------------------------------------------------------------------------------------


@each
def test_a_killed_run_resumes_to_the_weights_of_an_uninterrupted_one(
    backend: str, algorithm: str, trained: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    _, whole = trained(backend, algorithm)
    assert whole.finished
    check_resume(whole, tmp_path, monkeypatch, lambda: run_small(tmp_path / "run", backend, algorithm), TASK)


def test_hindsight_resumes_exactly_too(trained: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    _, whole = trained("sb3", "SAC", GOAL_TASK)
    check_resume(whole, tmp_path, monkeypatch, lambda: run_small(tmp_path / "run", "sb3", "SAC", GOAL_TASK), GOAL_TASK)


def check_resume(
    whole: Any, directory: Path, monkeypatch: pytest.MonkeyPatch, start: Callable[[], object], task: str
) -> None:
    log = Run.log

    def killed(self: Run, iteration: int, *arguments: Any) -> None:
        if iteration > 160:
            raise KeyboardInterrupt
        log(self, iteration, *arguments)

    monkeypatch.setattr(Run, "log", killed)
    with pytest.raises(KeyboardInterrupt):
        start()
    monkeypatch.setattr(Run, "log", log)
    torch.manual_seed(99)  # nothing may depend on what this process did before
    _, resumed = resume(task, directory / "run", [], say=lambda line: None)
    assert resumed.iteration == whole.iteration
    assert resumed.weights_sha256 == whole.weights_sha256


@each
def test_exports_in_both_formats_pass_their_self_check(
    backend: str, algorithm: str, trained: Callable[..., Any], tmp_path: Path
):
    _, result = trained(backend, algorithm)
    for kind in ("torchscript", "onnx"):
        out = tmp_path / ("policy.onnx" if kind == "onnx" else "policy.ts")
        request = ExportRequest(TASK, result.checkpoint, format=kind, out=out)  # type: ignore[arg-type]
        metadata = run_export(request, say=lambda line: None)
        assert metadata["self_check"]["max_error"] < 1e-5
    assert metadata["normalization_baked"]


def test_a_goal_conditioned_export_lists_where_each_group_begins(trained: Callable[..., Any], tmp_path: Path):
    _, result = trained("sb3", "SAC", GOAL_TASK)
    metadata = run_export(ExportRequest(GOAL_TASK, result.checkpoint, out=tmp_path / "p.ts"), say=lambda line: None)
    groups = {name: (group["start"], group["dim"]) for name, group in metadata["obs_groups"].items()}
    assert groups == {"policy": (0, 8), "achieved_goal": (8, 1), "desired_goal": (9, 1)}


@pytest.mark.parametrize(("backend", "algorithm"), [("skrl", "SAC"), ("sb3", "PPO")])
@pytest.mark.parametrize("mode", ["--deterministic", "--stochastic"])
def test_a_checkpoint_is_evaluated(
    backend: str, algorithm: str, mode: str, trained: Callable[..., Any], cli: Callable[..., Any], tmp_path: Path
):
    _, result = trained(backend, algorithm)
    out = tmp_path / "eval.json"
    assert cli("eval", TASK, result.checkpoint, "--episodes", 2, "--num-envs", 2, mode, "--out", out).code == 0
    assert json.loads(out.read_text())["metrics"]["length_mean"] > 0


@pytest.mark.parametrize(("backend", "algorithm"), [("skrl", "PPO"), ("skrl", "TD3"), ("sb3", "PPO"), ("sb3", "SAC")])
def test_evaluation_during_training_changes_no_weights_and_keeps_the_best(
    backend: str, algorithm: str, trained: Callable[..., Any], tmp_path: Path
):
    run, watched = run_small(tmp_path / "run", backend, algorithm, evaluation=EvalSettings(every=80, episodes=2))
    assert watched.weights_sha256 == trained(backend, algorithm)[1].weights_sha256
    lines = (run.directory / "evaluations.jsonl").read_text().splitlines()
    assert [json.loads(line)["iteration"] for line in lines] == [80, 160, 240]
    suffix = ".zip" if backend == "sb3" else ".pt"
    assert read_checkpoint(run.directory / f"best_model{suffix}", TASK)["iter"] in (80, 160, 240)


def test_files_have_the_names_their_users_were_promised(trained: Callable[..., Any]):
    names = {
        backend: {path.name for path in trained(backend, "PPO")[0].directory.glob("model*")}
        for backend in ("skrl", "sb3")
    }
    assert names["skrl"] == {"model_80.pt", "model_160.pt", "model_240.pt", "model_final.pt"}
    assert names["sb3"] == {"model_80_steps.zip", "model_160_steps.zip", "model_240_steps.zip", "model.zip"}


def test_the_budget_is_environment_steps_over_all_worlds(trained: Callable[..., Any]):
    run, result = trained("sb3", "SAC")
    last = json.loads((run.directory / "metrics.jsonl").read_text().splitlines()[-1])
    assert result.iteration == last["iteration"] == last["steps"] == 240


def test_a_checkpoint_does_not_hold_the_replay_buffer_and_the_state_only_its_filled_part(tmp_path: Path):
    run, _ = run_small(tmp_path / "run", "sb3", "SAC", agent__off_policy__buffer_size=400_000)
    assert (run.directory / "model.zip").stat().st_size < 100_000
    assert (run.directory / "state/resume.pt").stat().st_size < 400_000


# Final observations ---------------------------------------------------------------------------------------------------


def watch_steps(env: ManagerBasedRlEnv) -> list[tuple[Any, ...]]:
    """What each following step of an environment returns."""
    seen: list[tuple[Any, ...]] = []
    step = env.step

    def watched(action: torch.Tensor) -> tuple[Any, ...]:
        obs, rewards, terminated, truncated, extras = step(action)
        seen.append((dict(obs), rewards.clone(), terminated.clone(), truncated.clone(), dict(extras["final_obs"])))
        return obs, rewards, terminated, truncated, extras

    env.step = watched  # type: ignore[method-assign]
    return seen


@pytest.mark.parametrize(("backend", "algorithm"), OFF)
def test_replay_buffers_get_the_last_observation_of_an_episode_not_the_first_of_the_next(backend: str, algorithm: str):
    one = learner(backend, algorithm, env__episode_length_s=0.05)
    seen = watch_steps(one.env)
    collect(one, 5)
    obs, _, terminated, truncated, final = seen[-1]
    assert truncated.all()
    assert not torch.equal(obs["policy"], final["policy"])
    if backend == "skrl":
        stored, ended = one.memory.tensors["next_observations"][4], one.memory.tensors["terminated"][4].flatten()
    else:
        buffer = one.alg.replay_buffer
        stored = torch.from_numpy(buffer.next_observations[4])
        ended = torch.from_numpy(buffer.dones[4] * (1 - buffer.timeouts[4])).bool()
    assert torch.equal(stored, final["policy"])
    assert torch.equal(ended, terminated)


@pytest.mark.parametrize(("backend", "algorithm"), ON)
def test_a_time_out_is_worth_what_its_last_observation_is_worth(backend: str, algorithm: str):
    one = learner(backend, algorithm, env__episode_length_s=0.05)
    seen = watch_steps(one.env)
    collect(one, 5)
    _, rewards, _, truncated, final = seen[-1]
    assert truncated.all()
    with torch.no_grad():
        if backend == "skrl":
            stored = one.memory.tensors["rewards"][4].flatten()
            states = one.agent._state_preprocessor(final["critic"])
            value = one.agent._value_preprocessor(one.agent.value.act({"states": states})[0], inverse=True).flatten()
        else:
            stored = torch.from_numpy(one.alg.rollout_buffer.rewards[4])
            value = one.alg.policy.predict_values(one.normalizer(final["policy"])).flatten()
    torch.testing.assert_close(stored, rewards + 0.99 * value)


@pytest.mark.parametrize("algorithm", [*ON_POLICY, *OFF_POLICY])
def test_the_critics_of_skrl_may_see_more_than_the_actor(algorithm: str):
    one = learner("skrl", algorithm, **{"agent__obs_groups__critic": "policy,critic"})
    actions = 0 if algorithm in ON_POLICY else 1
    for name, model in one.agent.models.items():
        assert model.trunk[0].in_features == (8 if "policy" in name else 16 + actions)


@pytest.mark.parametrize("task", [TASK, GOAL_TASK])
def test_replay_buffers_of_sb3_keep_what_was_observed_and_hand_out_what_is_normalised(task: str):
    one = learner("sb3", "SAC", task, agent__off_policy__buffer_size=4000)
    seen = watch_steps(one.env)
    collect(one, 500)
    buffer = one.alg.replay_buffer
    kept = buffer.observations["observation"] if isinstance(buffer.observations, dict) else buffer.observations
    torch.testing.assert_close(torch.from_numpy(kept[1:500]), torch.stack([step[0]["policy"] for step in seen[:-1]]))
    handed_out = buffer.sample(4000, env=one.alg._vec_normalize_env).observations
    parts = handed_out.values() if isinstance(handed_out, dict) else [handed_out]
    for part in parts:
        assert part.mean(dim=0).abs().max() < 0.2
        assert 0.5 < part.std(dim=0).max() < 1.2


def test_observations_of_sb3_can_be_left_as_they_are():
    one = learner("sb3", "SAC", agent__obs_normalization="false")
    collect(one, 20)
    assert one.trained_policy().deployed.describe() == {"normalization_baked": False}
    assert (one.alg.replay_buffer.sample(50, env=one.alg._vec_normalize_env).observations[:, 0].abs() < 0.2).all()


@pytest.mark.parametrize("normalised", ["true", "false"])
def test_weights_for_normalised_observations_are_not_taken_for_others(normalised: str):
    other = {"true": "false", "false": "true"}[normalised]
    checkpoint = learner("sb3", "SAC", agent__obs_normalization=normalised).checkpoint()
    with pytest.raises(UserError, match="obs_normalization is"):
        learner("sb3", "SAC", agent__obs_normalization=other).load_checkpoint(checkpoint, weights_only=True)


@each
def test_the_learning_rate_can_fall_to_zero(backend: str, algorithm: str):
    one = learner(backend, algorithm, agent__decay_learning_rate="true", agent__learning_rate=1e-3)
    one.control_steps = 45  # of 60
    collect(one, 10)
    one.control_steps = 45
    before = one.digest()
    one.update()
    assert one.learning_rate() == pytest.approx(0.25e-3)
    assert rates(one) == {one.learning_rate()}
    assert one.digest() != before


def test_a_run_of_no_steps_has_a_learning_rate_too():
    one = learner("sb3", "SAC", agent__decay_learning_rate="true", agent__max_iterations=0, agent__learning_rate=1e-3)
    assert one.learning_rate() == 1e-3


@pytest.mark.parametrize("algorithm", OFF_POLICY)
def test_an_actor_without_its_critics_is_enough_to_act_but_not_to_learn(algorithm: str):
    one = learner("sb3", algorithm)
    checkpoint = one.checkpoint()
    weights = checkpoint["parameters"]["policy"]
    checkpoint["parameters"] = {"policy": {name: value for name, value in weights.items() if name.startswith("actor.")}}
    policy = load_policy(one.env, one.agent_cfg, checkpoint)
    assert torch.equal(policy.act(one.env.obs), one.trained_policy().act(one.env.obs))
    with pytest.raises(UserError, match="does not fit"):
        one.load_checkpoint(checkpoint, weights_only=True)


# Hindsight and demonstrations -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", OFF_POLICY)
def test_the_rewards_of_relabelled_samples_are_what_the_environment_would_have_paid(algorithm: str):
    one = learner("sb3", algorithm, GOAL_TASK, agent__her="true")
    collect(one, 45)
    batch = one.alg.replay_buffer.sample(200)
    paid = one.env.goal.reward(batch.next_observations["achieved_goal"], batch.observations["desired_goal"])
    torch.testing.assert_close(batch.rewards.flatten(), paid, rtol=0.0, atol=0.0)
    asked = torch.from_numpy(one.alg.replay_buffer.observations["desired_goal"]).unique()
    relabelled = ~torch.isin(batch.observations["desired_goal"].flatten(), asked)
    assert 0.7 < relabelled.float().mean() < 0.9  # four of five


def test_the_hindsight_buffer_keeps_the_books_that_sb3_keeps():
    from stable_baselines3.her.her_replay_buffer import HerReplayBuffer

    one = learner("sb3", "SAC", GOAL_TASK)
    ours, spaces = one.alg.replay_buffer, (one.alg.observation_space, one.alg.action_space)
    theirs = HerReplayBuffer(160, *spaces, env=ours.env, n_envs=WORLDS)
    add = type(ours).add

    def both(buffer: Any, *row: Any) -> None:
        add(buffer, *row)
        HerReplayBuffer.add(theirs, *row)

    type(ours).add = both
    try:
        collect(one, 90)  # twice around
    finally:
        type(ours).add = add
    for name in ("ep_start", "ep_length", "_current_ep_start", "dones", "timeouts", "rewards"):
        assert (getattr(ours, name) == getattr(theirs, name)).all(), name


def test_goals_are_seen_without_hindsight_too():
    assert learner("skrl", "SAC", GOAL_TASK).trained_policy().deployed.obs_groups == (
        "policy",
        "achieved_goal",
        "desired_goal",
    )


def demos(env: ManagerBasedRlEnv, steps: int = 30) -> dict[str, Any]:
    """Random demonstrations of a task."""
    rows: dict[str, list[Any]] = {
        name: [] for name in ("obs", "next_obs", "actions", "rewards", "terminated", "truncated")
    }
    generator = torch.Generator().manual_seed(0)
    for _ in range(steps):
        obs, action = env.obs, 2 * torch.rand(env.num_envs, env.num_actions, generator=generator) - 1
        _, rewards, terminated, truncated, extras = env.step(action)
        values = (obs, extras["final_obs"], action, rewards, terminated.clone(), truncated.clone())
        for name, value in zip(rows, values, strict=True):
            rows[name].append(value)
    stacked = {name: torch.stack(rows[name]) for name in ("actions", "rewards", "terminated", "truncated")}
    groups = {part: {g: torch.stack([row[g] for row in rows[part]]) for g in env.obs} for part in ("obs", "next_obs")}
    about = {"format": "genelab-demos-2", "task": GOAL_TASK, "num_envs": env.num_envs, "success_rate": None}
    return {**about, **stacked, **groups}


def goal_env() -> ManagerBasedRlEnv:
    cfg = find(GOAL_TASK).env_cfg()
    cfg.num_envs = WORLDS
    return ManagerBasedRlEnv(cfg)


def test_demonstrations_fill_the_buffer_as_whole_episodes(tmp_path: Path):
    data = demos(goal_env())
    write_demos(tmp_path / "demos.npz", data)
    one = learner("sb3", "SAC", GOAL_TASK, agent__demo_path=tmp_path / "demos.npz")
    one.start()
    buffer = one.alg.replay_buffer
    assert buffer.pos == 30
    assert (buffer.ep_length[:30] > 0).all()  # the last episodes were closed where the recording ends
    assert (buffer._current_ep_start == 30).all()
    ended = torch.from_numpy(buffer.dones[:30] * (1 - buffer.timeouts[:30])).bool()
    assert torch.equal(ended, data["terminated"])
    assert torch.equal(torch.from_numpy(buffer.next_observations["observation"][:30]), data["next_obs"]["policy"])


def test_the_environment_variable_names_demonstrations_and_the_run_remembers_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_demos(tmp_path / "demos.npz", demos(goal_env()))
    monkeypatch.setenv("GENELAB_SB3_DEMO_PATH", str(tmp_path / "demos.npz"))
    run, result = run_small(tmp_path / "run", "sb3", "SAC", GOAL_TASK)
    assert result.finished
    assert json.loads((run.directory / "params/agent.json").read_text())["demo_path"] == str(tmp_path / "demos.npz")


def without(data: dict[str, Any], *path: str) -> None:
    for key in path[:-1]:
        data = data[key]
    del data[path[-1]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(format="other"), "its format is other, not genelab-demos-2"),
        (lambda d: d.update(task="Other-v0"), "demonstrations of task 'Other-v0', not of"),
        (lambda d: d.update(num_envs=64), "collected in 64 worlds, this run has 4"),
        (
            lambda d: d.update(actions=d["actions"][..., [0, 0]]),
            r"actions has shape \(30, 4, 2\), expected \(30, 4, 1\)",
        ),
        (lambda d: d.update(rewards=d["rewards"][:3]), r"rewards has shape \(3, 4\)"),
        (lambda d: d.update(truncated=d["truncated"].float()), "truncated is float32, expected bool"),
        (lambda d: without(d, "next_obs", "achieved_goal"), "has no next_obs.achieved_goal"),
        (lambda d: without(d, "actions"), "has no actions"),
        (lambda d: d["rewards"].__setitem__((3, 1), torch.nan), "rewards is not finite in step 3 of world 1"),
        (
            lambda d: d["next_obs"]["policy"].__setitem__((7, 2, 0), torch.inf),
            "next_obs.policy is not finite in step 7 of world 2",
        ),
    ],
)
def test_demonstrations_that_do_not_fit_are_an_error_in_one_line(
    change: Callable[[dict[str, Any]], object], message: str, tmp_path: Path
):
    data = demos(goal_env())
    change(data)
    write_demos(tmp_path / "demos.npz", data)
    one = learner("sb3", "SAC", GOAL_TASK, agent__demo_path=tmp_path / "demos.npz")
    with pytest.raises(UserError, match=message):
        one.start()


def test_demonstrations_in_torchs_format_are_to_be_collected_again(tmp_path: Path):
    torch.save(demos(goal_env()), tmp_path / "demos.pt")
    one = learner("sb3", "SAC", GOAL_TASK, agent__demo_path=tmp_path / "demos.pt")
    with pytest.raises(UserError, match="is torch's format, which demonstrations no longer have: collect them again"):
        one.start()


def test_a_flipped_bit_in_demonstrations_is_noticed(tmp_path: Path):
    path = tmp_path / "demos.npz"
    write_demos(path, demos(goal_env()))
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(UserError, match="not a readable file of demonstrations"):
        learner("sb3", "SAC", GOAL_TASK, agent__demo_path=path).start()


# Mistakes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("backend", "arguments", "message"),
    [
        ("skrl", ["--agent.algorithm", "SACC"], "agent.algorithm 'SACC' does not exist (did you mean 'SAC'?)"),
        ("sb3", ["--agent.algorithm", "td3"], "agent.algorithm 'td3' does not exist (did you mean 'TD3'?)"),
        ("skrl", ["--agent.off_policy.batch_size", "8"], "would have no effect: PPO does not have it"),
        ("sb3", ["--agent.her", "true"], "agent.her goes with SAC, TD3, DDPG"),
        ("sb3", ["--agent.algorithm", "SAC", "--agent.her", "true"], "agent.her needs a goal-conditioned task"),
        ("sb3", ["--agent.her_goals", "2"], "would have no effect: her is false"),
        ("sb3", ["--agent.obs_groups", "polcy"], "unknown observation group 'polcy' (did you mean 'policy'?)"),
        ("sb4", [], "unknown backend of task"),
    ],
)
def test_a_mistake_in_the_agent_is_one_line(
    backend: str, arguments: list[str], message: str, mistake: Callable[..., str], tmp_path: Path
):
    said = mistake("train", TASK, "--backend", backend, "--num-envs", 4, "--log-dir", tmp_path / "run", *arguments)
    assert message in said
    assert not (tmp_path / "run").exists()


def test_a_library_that_is_not_installed_says_how_to_install_it(
    mistake: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setitem(BACKENDS, "skrl", dataclasses.replace(BACKENDS["skrl"], requires="no_such_library"))
    said = mistake("train", TASK, "--backend", "skrl", "--log-dir", tmp_path / "run")
    assert "backend 'skrl' is not installed: pip install genelab[skrl]" in said


def test_a_checkpoint_of_another_network_is_an_error(
    trained: Callable[..., Any], mistake: Callable[..., str], tmp_path: Path
):
    _, result = trained("sb3", "SAC")
    flags = ["--backend", "sb3", "--num-envs", 4, "--agent.algorithm", "SAC", "--log-dir", tmp_path / "run"]
    assert "does not fit the agent" in mistake("train", TASK, *flags, "--checkpoint", result.checkpoint)


def test_a_preset_is_for_one_backend():
    from genelab.experiment.setup import resolve

    default, sb3 = resolve(TASK), resolve(TASK, backend="sb3")
    assert default.preset == sb3.preset == "cpu"
    assert default.agent_cfg.max_iterations == 150
    assert sb3.agent_cfg.max_iterations == 307_200
    assert resolve(GOAL_TASK, backend="skrl").preset == "reference"  # it has none of its own
