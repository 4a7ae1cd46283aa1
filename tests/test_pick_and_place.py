"""The Franka task observes, rewards and ends as specified; its demonstrator solves it, and can be recorded."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from genelab import mdp
from genelab.core.config import to_dict
from genelab.core.errors import UserError
from genelab.core.registry import find
from genelab.core.stored_config import from_dict
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.experiment.collect import run_collection
from genelab.mdp import lift_and_place
from genelab.tasks.manipulation.demonstrator import PickAndPlaceDemonstrator
from genelab.tasks.manipulation.franka import pick_and_place, pick_and_place_sac

TASK = "GeneLab-Franka-Pick-And-Place-v0"


def make(num_envs: int = 4, play: bool = True, seed: int = 2) -> ManagerBasedRlEnv:
    cfg = pick_and_place(play)
    cfg.num_envs, cfg.simulation.threads = num_envs, 1
    return ManagerBasedRlEnv(cfg, seed=seed)


@pytest.fixture
def env() -> Iterator[ManagerBasedRlEnv]:
    made = make()
    yield made
    made.close()


def still(env: ManagerBasedRlEnv) -> torch.Tensor:
    return torch.zeros(env.num_envs, 4)


# The task


def test_a_control_step_is_50_ms_and_an_episode_100_of_them_in_64_worlds() -> None:
    cfg = pick_and_place()
    assert (cfg.simulation.dt, cfg.decimation, cfg.max_episode_length, cfg.num_envs) == (0.005, 10, 100, 64)


def test_observations_have_the_specified_layout(env: ManagerBasedRlEnv) -> None:
    assert {name: value.shape[1] for name, value in env.obs.items()} == {
        "policy": 35,
        "achieved_goal": 3,
        "desired_goal": 3,
    }
    assert env.observation_manager.groups["policy"].term_dims == {
        "joint_pos": 9,
        "joint_vel": 9,
        "hand": 3,
        "cube": 3,
        "goal": 3,
        "cube_to_goal": 3,
        "last_action": 4,
        "remaining_time": 1,
    }
    terms = env.cfg.observations["policy"].terms
    assert {name: (t.noise, t.scale) for name, t in terms.items() if (t.noise, t.scale) != (0.0, 1.0)} == {
        "joint_pos": (0.005, 1.0),
        "joint_vel": (0.05, 0.1),
    }


def test_observations_show_hand_cube_goal_last_action_and_remaining_time(env: ManagerBasedRlEnv) -> None:
    action = torch.tensor([[0.1, -0.2, 0.3, -0.4]]).expand(4, 4)
    env.step(action)
    hand, cube, goal, to_goal, last, left = env.obs["policy"][:, 18:].split((3, 3, 3, 3, 4, 1), dim=1)
    torch.testing.assert_close(hand, env.robot.body_pos[:, env.robot.body_names.index("hand")])
    torch.testing.assert_close(cube, env.obs["achieved_goal"])
    torch.testing.assert_close(goal, env.obs["desired_goal"])
    torch.testing.assert_close(to_goal, goal - cube)
    torch.testing.assert_close(last, action)
    torch.testing.assert_close(left, torch.full((4, 1), 0.99))


def test_the_reward_is_minus_one_away_from_the_goal_plus_a_bonus_for_lifting() -> None:
    goal = torch.tensor([0.5, 0.0, 0.1])
    places = torch.tensor([[0.5, 0.0, 0.02], [0.5, 0.0, 0.06], [0.5, 0.04, 0.1], [0.5, 0.051, 0.1], [0.5, 0.0, 0.4]])
    expected = torch.tensor([-1.0, 0.2 * 0.4, 0.2 * 0.8, -1 + 0.2 * 0.8, -1 + 0.2])
    torch.testing.assert_close(lift_and_place(places, goal.expand(5, 3)), expected)
    torch.testing.assert_close(lift_and_place(torch.tensor([0.5, 0.0, 0.0]), goal), torch.tensor(-1.0))


def test_a_step_is_paid_the_reward_of_its_goals_not_times_the_control_step(env: ManagerBasedRlEnv) -> None:
    env.entities["cube"].write_root(torch.arange(1), env.obs["desired_goal"][:1])
    _, rewards, _, _, extras = env.step(still(env))
    last = extras["final_obs"]
    torch.testing.assert_close(rewards, lift_and_place(last["achieved_goal"], last["desired_goal"]))
    assert rewards[0] >= 0.0


def test_cubes_and_goals_are_spread_as_specified() -> None:
    env = make(num_envs=2048)
    cube, goal = env.obs["achieved_goal"], env.obs["desired_goal"]
    middle = torch.tensor([0.5, 0.0])
    for place in (cube, goal):
        assert (place[:, :2] - middle).abs().max() <= 0.15 + 1e-6
        assert (place[:, :2] - middle).abs().max() > 0.148
        torch.testing.assert_close(place[:, :2].mean(dim=0), middle, atol=0.01, rtol=0)
    torch.testing.assert_close(cube[:, 2], torch.full((2048,), 0.02))
    on_the_ground = (goal[:, 2] - 0.02).abs() < 1e-6
    assert on_the_ground.float().mean() == pytest.approx(0.3, abs=0.04)
    in_the_air = goal[~on_the_ground, 2]
    assert in_the_air.min() > 0.02
    assert 0.198 < in_the_air.max() <= 0.2
    assert in_the_air.mean() == pytest.approx(0.11, abs=0.01)


def test_a_reset_puts_the_robot_to_its_start_and_the_cube_to_rest_elsewhere(env: ManagerBasedRlEnv) -> None:
    cubes = env.obs["achieved_goal"].clone()
    for _ in range(5):
        env.step(2 * torch.rand(4, 4) - 1)
    env.reset()
    torch.testing.assert_close(env.robot.joint_pos, env.robot.default_joint_pos.expand(4, 9))
    assert not env.engine.qvel.any()
    assert (env.obs["achieved_goal"] - cubes)[:, :2].abs().min() > 0.0


def test_a_cube_that_nobody_touches_stays_where_it_is(env: ManagerBasedRlEnv) -> None:
    before = env.obs["achieved_goal"].clone()
    for _ in range(20):
        env.step(still(env))
    assert (env.obs["achieved_goal"] - before).abs().max() < 1e-4


def test_episodes_end_at_the_time_out_and_succeed_where_the_cube_is_at_the_goal() -> None:
    env = make()
    for _ in range(99):
        _, _, terminated, truncated, _ = env.step(still(env))
        assert not (terminated | truncated).any()
    near = env.obs["desired_goal"].clone()
    near[:, 2] = 0.02
    goal = env.command_manager["goal"]
    goal[:, 2] = torch.tensor([0.02, 0.06, 0.08, 0.2])  # with the cube on the ground below it
    env.entities["cube"].write_root(torch.arange(4), near, vel=torch.zeros(4, 6))
    _, _, terminated, truncated, extras = env.step(still(env))
    assert truncated.all()
    assert not terminated.any()
    assert extras["is_success"].tolist() == [True, True, False, False]


def test_an_episode_does_not_end_when_the_goal_is_reached(env: ManagerBasedRlEnv) -> None:
    env.entities["cube"].write_root(torch.arange(4), env.obs["desired_goal"])
    _, _, terminated, truncated, _ = env.step(still(env))
    assert not (terminated | truncated).any()


def test_a_cube_below_the_ground_ends_the_episode(env: ManagerBasedRlEnv) -> None:
    env.entities["cube"].write_root(torch.tensor([1, 2]), torch.tensor([[0.5, 0.0, -0.11], [0.5, 0.0, -0.09]]))
    terminated, truncated = env.termination_manager.compute()
    assert terminated.tolist() == [False, True, False, False]
    assert not truncated.any()


def test_goals_are_part_of_the_state_and_a_resumed_environment_goes_on_bit_for_bit() -> None:
    env, other = make(seed=1), make(seed=9)
    for _ in range(3):
        env.step(still(env) + 0.5)
    other.load_state_dict(env.state_dict())
    for _ in range(3):
        first, second = (e.step(still(e) - 0.5)[0] for e in (env, other))
        assert all(torch.equal(first[name], second[name]) for name in first)
    torch.testing.assert_close(other.engine.markers, env.engine.markers)


def test_pictures_show_each_worlds_goal(env: ManagerBasedRlEnv) -> None:
    site = env.scene.model.site("goal/mark").id
    for world in range(2):
        shown = torch.tensor(env.engine.world_data(world).site_xpos[site], dtype=torch.float32)
        torch.testing.assert_close(shown, env.obs["desired_goal"][world])
    before = env.render(0, 160, 120)
    env.command_manager["goal"][0] += torch.tensor([0.0, 0.0, 0.2])
    assert (before != env.render(0, 160, 120)).any()


def test_an_object_that_is_not_there_is_an_error_with_the_nearest_name() -> None:
    cfg = pick_and_place(play=True)
    cfg.observations["achieved_goal"].terms["cube"].params["entity"] = "cub"
    with pytest.raises(UserError, match="did you mean 'cube'"):
        ManagerBasedRlEnv(cfg)


def test_the_config_survives_its_round_trip_through_json() -> None:
    cfg = pick_and_place()
    assert from_dict(ManagerBasedRlEnvCfg, to_dict(cfg, ManagerBasedRlEnvCfg)) == cfg


def test_the_agent_has_the_published_settings() -> None:
    agent = pick_and_place_sac()
    off = agent.off_policy
    assert (agent.algorithm, agent.max_iterations, agent.learning_rate, agent.gamma) == ("SAC", 2_000_000, 1e-3, 0.95)
    assert (agent.hidden_dims, agent.activation) == ((512, 512, 512), "relu")
    assert (agent.her, agent.her_goals, agent.her_strategy) == (True, 4, "future")
    assert (off.tau, off.batch_size, off.buffer_size, off.learning_starts) == (0.05, 2048, 1_000_000, 4000)
    assert (off.gradient_steps, off.train_every, off.entropy_coef) == (8, 1, 0.1)


# The demonstrator


def test_the_demonstrator_brings_every_cube_to_its_goal() -> None:
    env = make(num_envs=16, play=False)
    demonstrator = PickAndPlaceDemonstrator(env)
    for _ in range(99):
        env.step(demonstrator.act(env.obs))
    assert mdp.object_at_command(env, env.entities["cube"], "goal", 0.05).float().mean() >= 15 / 16


def test_the_demonstrator_picks_up_again_what_it_lost() -> None:
    env = make(num_envs=2)
    demonstrator = PickAndPlaceDemonstrator(env)
    for _ in range(30):
        env.step(demonstrator.act(env.obs))
    env.entities["cube"].write_root(torch.arange(2), torch.tensor([[0.5, 0.1, 0.02]]).expand(2, 3))
    for _ in range(69):
        env.step(demonstrator.act(env.obs))
    assert mdp.object_at_command(env, env.entities["cube"], "goal", 0.05).all()


def test_a_reset_demonstrator_begins_anew_in_those_worlds_only() -> None:
    env = make(num_envs=3)
    demonstrator = PickAndPlaceDemonstrator(env)
    demonstrator.phase[:] = 4
    demonstrator.reset(torch.tensor([1]))
    assert demonstrator.phase.tolist() == [4, 0, 4]


# Demonstrations

PARTS = ("obs", "next_obs")


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a file of 110 steps in 4 worlds holds: every world's episode ends once."""
    path = tmp_path_factory.mktemp("demos") / "demos.npz"
    run_collection(TASK, path, [("env.num_envs", "4")], steps=110, seed=5, say=lambda line: None)
    with np.load(path) as archive:
        arrays = {name: torch.from_numpy(archive[name]) for name in archive.files if archive[name].ndim}
        about = {name: archive[name].item() for name in archive.files if not archive[name].ndim}
    parts = {part: {n.partition(".")[2]: a for n, a in arrays.items() if n.startswith(f"{part}.")} for part in PARTS}
    return {**about, **arrays, **parts}


def test_a_file_of_demonstrations_says_what_it_is(demos: dict[str, Any]) -> None:
    about = {name: value for name, value in demos.items() if isinstance(value, str | int | float)}
    assert about == {"format": "genelab-demos-2", "task": TASK, "num_envs": 4, "seed": 5, "success_rate": 1.0}


def test_a_file_of_demonstrations_has_every_transition_time_first(demos: dict[str, Any]) -> None:
    sizes = {"policy": 35, "achieved_goal": 3, "desired_goal": 3}
    for part in PARTS:
        assert {name: tuple(v.shape) for name, v in demos[part].items()} == {n: (110, 4, d) for n, d in sizes.items()}
    assert demos["actions"].shape == (110, 4, 4)
    assert demos["actions"].abs().max() <= 1.0
    assert demos["rewards"].shape == demos["terminated"].shape == demos["truncated"].shape == (110, 4)
    assert demos["truncated"].dtype == demos["terminated"].dtype == torch.bool


def test_time_outs_are_truncations_and_next_observations_are_the_true_ones(demos: dict[str, Any]) -> None:
    ends = demos["truncated"]
    assert ends[99].all()
    assert ends.sum() == 4
    assert not demos["terminated"].any()
    for name, after in demos["next_obs"].items():
        first = demos["obs"][name]
        torch.testing.assert_close(after[:-1][~ends[:-1]], first[1:][~ends[:-1]])
        assert (after[99] != first[100]).any(dim=-1).all()
    torch.testing.assert_close(demos["next_obs"]["policy"][99, :, -1], torch.zeros(4))


def test_rewards_are_those_of_the_recorded_goals(demos: dict[str, Any]) -> None:
    after = demos["next_obs"]
    torch.testing.assert_close(demos["rewards"], lift_and_place(after["achieved_goal"], after["desired_goal"]))


def test_the_same_seed_gives_the_same_demonstrations(tmp_path: Path) -> None:
    recorded = [
        run_collection(TASK, tmp_path / "d.npz", [("env.num_envs", "2")], steps=5, seed=s, say=lambda _: None)
        for s in (1, 1, 2)
    ]
    first, same, other = (demos["obs"]["policy"] for demos in recorded)
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


def test_collect_is_a_command_for_every_task_with_a_demonstrator(cli: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "demos.npz"
    outcome = cli("collect", TASK, "--num-envs", 2, "--steps", 3, "--out", path)
    assert outcome.code == 0, outcome.err
    assert "success_rate -" in outcome.out
    assert f"MB written to {path}" in outcome.out


def test_a_task_without_demonstrator_is_a_users_error(mistake: Callable[..., str], tmp_path: Path) -> None:
    assert "has no demonstrator" in mistake("collect", "GeneLab-Inverted-Pendulum-v0", "--out", tmp_path / "demos.npz")
    assert not (tmp_path / "demos.npz").exists()


def test_the_demonstrator_can_be_watched(cli: Callable[..., Any], mistake: Callable[..., str]) -> None:
    outcome = cli("play", TASK, "--agent", "demonstrator", "--steps", 101)
    assert outcome.code == 0, outcome.err
    assert "1 episodes ended" in outcome.out
    assert "has no demonstrator" in mistake("play", "GeneLab-Inverted-Pendulum-v0", "--agent", "demonstrator")


def test_settings_that_collecting_does_not_read_are_errors(mistake: Callable[..., str], tmp_path: Path) -> None:
    assert "learns nothing" in mistake("collect", TASK, "--out", tmp_path / "d.npz", "--agent.learning_rate", 1)
    assert "steps" in mistake("collect", TASK, "--out", tmp_path / "d.npz", "--steps", 0)


def test_the_tasks_environment_and_demonstrator_are_named_by_the_registry() -> None:
    spec = find(TASK)
    assert spec.env_cfg(play=True).camera == "robot/front"
    assert spec.demonstrator == "genelab.tasks.manipulation.demonstrator:PickAndPlaceDemonstrator"
