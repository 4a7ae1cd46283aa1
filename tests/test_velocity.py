"""The Go1 is the real one, and its task measures, rewards and disturbs what was specified."""

import dataclasses
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
import torch

from genelab import mdp
from genelab.core.errors import UserError
from genelab.engines import ENGINES
from genelab.engines.fields import nominal
from genelab.engines.mujoco import MujocoEngine
from genelab.envs import CurriculumTermCfg, EventTermCfg, ManagerBasedRlEnv, RampCfg
from genelab.experiment.setup import resolve
from genelab.mdp.commands import VelocityCommand
from genelab.scene.robots.go1 import LEGS, go1, quadruped
from genelab.tasks.velocity.builder import COMMAND
from genelab.tasks.velocity.go1 import FEET, THIGHS, flat
from robot_facts import check_body, check_joint

FACTS = json.loads((Path(__file__).parent / "data/go1.json").read_text())
BODIES = {body["name"]: body for body in FACTS["bodies"]}
JOINTS = {joint["name"]: joint for body in FACTS["bodies"] for joint in body["joints"] if joint["type"] == "hinge"}


def go1_env(num_envs: int = 4, play: bool = True, change: Callable[[Any], None] | None = None) -> ManagerBasedRlEnv:
    cfg = flat(play)
    cfg.num_envs, cfg.simulation.dt, cfg.decimation = num_envs, 0.005, 4
    cfg.observations["policy"].noise = False
    if change is not None:
        change(cfg)
    return ManagerBasedRlEnv(cfg, seed=2)


@pytest.fixture(scope="module")
def four_worlds() -> Iterator[ManagerBasedRlEnv]:
    made = go1_env()
    yield made
    made.close()


@pytest.fixture
def env(four_worlds: ManagerBasedRlEnv) -> ManagerBasedRlEnv:
    """Four worlds at the beginning of an episode. Tests that change a config or the model build their own."""
    four_worlds.reset(seed=2)
    return four_worlds


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return quadruped(height=BODIES["trunk"]["pos"][2], kp=25.0, kd=0.5).compile()


# The robot


def test_the_robot_has_exactly_the_known_bodies_and_joints_in_their_order(model: mujoco.MjModel) -> None:
    assert [model.body(i).name for i in range(1, model.nbody)] == list(BODIES)
    assert [model.joint(i).name for i in range(1, model.njnt)] == list(JOINTS)
    assert (model.nq, model.nv) == (FACTS["nq"], FACTS["nv"])
    assert model.body_mass.sum() == pytest.approx(FACTS["total_mass"], abs=5e-5)


@pytest.mark.parametrize("name", list(BODIES))
def test_masses_inertias_and_frames_are_the_known_ones(model: mujoco.MjModel, name: str) -> None:
    check_body(model, name, BODIES[name])


@pytest.mark.parametrize("name", list(JOINTS))
def test_joints_have_the_known_axes_limits_damping_armature_and_friction(model: mujoco.MjModel, name: str) -> None:
    check_joint(model, name, JOINTS[name])
    assert model.joint(name).armature[0] == JOINTS[name]["armature"]


def test_servos_have_the_specified_gains_and_the_known_effort_limits(model: mujoco.MjModel) -> None:
    efforts = {actuator["joint"]: actuator["force_range"] for actuator in FACTS["actuators"]}
    for joint in JOINTS:
        servo = model.actuator(joint)
        assert (servo.gainprm[0], servo.biasprm[1], servo.biasprm[2]) == (25.0, -25.0, -0.5)
        np.testing.assert_array_equal(servo.forcerange, efforts[joint])


def test_feet_are_spheres_at_the_end_of_the_calves(model: mujoco.MjModel) -> None:
    for leg in LEGS:
        foot = model.geom(f"{leg}_foot")
        assert foot.type[0] == mujoco.mjtGeom.mjGEOM_SPHERE.value
        known = next(s for s in BODIES[f"{leg}_calf"]["shapes"] if s["collides"] and s["type"] == "sphere")
        np.testing.assert_array_equal(foot.pos, known["pos"])
        assert foot.size[0] == known["size"][0]
        assert foot.pos.tolist() == model.site(leg).pos.tolist() == [0.0, 0.0, -0.213]


def test_the_robot_starts_as_specified() -> None:
    robot = go1()
    assert robot.params["height"] == 0.42
    assert {joint.split("_", 1)[1]: angle for joint, angle in robot.joint_pos.items()} == {
        "hip_joint": 0.0,
        "thigh_joint": 0.9,
        "calf_joint": -1.8,
    }


# The task


def test_reward_weights_are_the_specified_ones() -> None:
    weights = {name: term.weight for name, term in flat(play=True).rewards.items()}
    assert weights == {
        "track_lin_vel": 2.0,
        "track_ang_vel": 1.0,
        "air_time": 0.25,
        "lin_vel_z": -2.0,
        "ang_vel_xy": -0.05,
        "tilt": -1.0,
        "height": -1.0,
        "torque": -2e-4,
        "joint_acc": -1e-5,
        "action_rate": -0.01,
        "joint_limits": -1.0,
        "thigh_contact": -1.0,
        "slip": -0.1,
    }


def test_observations_have_the_specified_sizes(env: ManagerBasedRlEnv) -> None:
    assert {group: value.shape[1] for group, value in env.obs.items()} == {"policy": 45, "critic": 48}


def lively(env: ManagerBasedRlEnv) -> None:
    """Every world in its own moving, tilted state, with its own command."""
    draw = torch.Generator().manual_seed(1)
    n = env.num_envs
    qpos, qvel = env.engine.qpos.clone(), torch.randn(n, 18, generator=draw)
    qpos[:, 2] = 0.3 + 0.1 * torch.rand(n, generator=draw)
    qpos[:, 3:7] = torch.nn.functional.normalize(qpos[:, 3:7] + 0.2 * torch.randn(n, 4, generator=draw))
    qpos[:, 7:] += 0.3 * torch.randn(n, 12, generator=draw)
    env.engine.set_state(torch.arange(n), qpos, qvel)
    env.command_manager["velocity"][:] = torch.rand(n, 3, generator=draw) * 2 - 1


def test_rewards_of_the_trunks_motion_are_those_computed_by_hand(env: ManagerBasedRlEnv) -> None:
    lively(env)
    for world in range(env.num_envs):
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, env.engine.qpos[world, 3:7].double().numpy())
        to_body = turn.reshape(3, 3).T
        v = to_body @ env.engine.qvel[world, :3].double().numpy()
        w = env.engine.qvel[world, 3:6].double().numpy()
        g = to_body @ [0.0, 0.0, -1.0]
        x, y, z = env.command_manager["velocity"][world].tolist()
        by_hand = {
            mdp.track_lin_vel: math.exp(-((x - v[0]) ** 2 + (y - v[1]) ** 2) / 0.25),
            mdp.track_ang_vel: math.exp(-((z - w[2]) ** 2) / 0.25),
            mdp.lin_vel_z_l2: v[2] ** 2,
            mdp.ang_vel_xy_l2: w[0] ** 2 + w[1] ** 2,
            mdp.tilt_l2: g[0] ** 2 + g[1] ** 2,
            mdp.base_height_l2: (float(env.engine.qpos[world, 2]) - 0.34) ** 2,
        }
        for name in ("track_lin_vel", "track_ang_vel", "lin_vel_z", "ang_vel_xy", "tilt", "height"):
            term = env.cfg.rewards[name]
            value = float(term.func(env, **term.params)[world])
            assert value == pytest.approx(by_hand[term.func], rel=1e-4, abs=1e-6), name  # type: ignore[index]


def test_air_time_counts_feet_in_the_air_for_a_tenth_to_half_a_second(env: ManagerBasedRlEnv) -> None:
    env.sensors["feet"].data.air_time[:] = torch.tensor([0.05, 0.2, 0.45, 0.55])
    env.sensors["thighs"].data.air_time[:] = 0.3
    env.command_manager["velocity"][:] = torch.tensor([[1.0, 0, 0], [0, 0, 0.2], [0.05, 0, 0.04], [0, 0, 0]])
    term = env.cfg.rewards["air_time"]
    assert mdp.feet_air_time(env, **{**term.params, "feet": env.sensors["feet"]}).tolist() == [2, 2, 0, 0]


def test_slip_is_the_squared_horizontal_speed_of_feet_in_contact(env: ManagerBasedRlEnv) -> None:
    lively(env)
    env.sensors["feet"].data.in_contact[:] = torch.tensor([True, False, True, False])
    env.command_manager["velocity"][3] = 0.0
    sites = torch.tensor([env.robot.site_names.index(leg) for leg in LEGS])
    slip = mdp.feet_slip(env, env.sensors["feet"], sites, "velocity", 0.05)  # type: ignore[arg-type]
    for world in range(3):
        data, twist = env.engine.world_data(world), np.zeros(6)
        expected = 0.0
        for leg in ("FR", "RR"):
            site = env.scene.model.site(f"robot/{leg}").id
            mujoco.mj_objectVelocity(env.scene.model, data, mujoco.mjtObj.mjOBJ_SITE, site, twist, 0)
            expected += twist[3] ** 2 + twist[4] ** 2
        assert float(slip[world]) == pytest.approx(expected, rel=1e-3)
    assert float(slip[3]) == 0.0


def test_joint_rewards_are_those_computed_by_hand(env: ManagerBasedRlEnv) -> None:
    pos = env.robot.default_joint_pos.repeat(4, 1)
    pos[0, 0], pos[1, 2], pos[1, 5] = 0.963, -0.788, -2.918  # hip above, calf above, calf below its limits
    env.robot.write_joints(torch.arange(4), pos)
    torch.testing.assert_close(mdp.joint_limits(env), torch.tensor([0.1, 0.2, 0.0, 0.0]), atol=1e-5, rtol=0.0)
    acceleration = mdp.JointAccL2(env)
    env.robot.write_joints(torch.arange(4), vel=env.robot.joint_vel + 0.02)
    torch.testing.assert_close(acceleration(env), torch.full((4,), 12.0), rtol=1e-4, atol=0.0)  # 1 rad/s² each
    torch.testing.assert_close(acceleration(env), torch.zeros(4))
    env.step(torch.full((4, 12), 0.5))
    env.step(torch.full((4, 12), -0.5))
    torch.testing.assert_close(mdp.action_rate_l2(env), torch.full((4,), 12.0))
    torques = env.engine.actuator_force
    torch.testing.assert_close(mdp.actuator_force_l2(env), (torques**2).sum(dim=1))
    assert float(torques.abs().max()) <= 35.55


@pytest.mark.parametrize(
    ("down", "reward"), [("1001", 1.0), ("0110", 1.0), ("1111", 0.0), ("0000", 0.0), ("1100", 0.0), ("1000", 0.0)]
)
def test_trot_is_one_diagonal_pair_on_the_ground(env: ManagerBasedRlEnv, down: str, reward: float) -> None:
    feet = env.sensors["feet"]
    feet.data.in_contact[:] = torch.tensor([foot == "1" for foot in down])
    feet.data.air_time[:] = 0.1
    env.command_manager[COMMAND][:] = torch.tensor([0.5, 0.0, 0.0])
    assert mdp.trot(env, feet, COMMAND, threshold=0.1).tolist() == [reward] * env.num_envs
    assert mdp.trot(env, feet, COMMAND, threshold=0.1, shortest=0.1).tolist() == [reward] * env.num_envs
    feet.data.air_time[:, 0] = feet.data.air_time[:, 1] = 0.09  # one foot of each pair has just left the ground
    assert mdp.trot(env, feet, COMMAND, threshold=0.1, shortest=0.1).tolist() == [0.0] * env.num_envs
    feet.data.air_time[0] = 0.5  # held up too long
    env.command_manager[COMMAND][1] = 0.0  # to stand
    assert mdp.trot(env, feet, COMMAND, threshold=0.1)[:2].tolist() == [0.0, 0.0]


def moving(env: ManagerBasedRlEnv) -> None:
    """All robots upright at 0.5 m/s forwards and 0.3 rad/s to the left, with a command each."""
    velocity = torch.zeros(4, 6)
    velocity[:, 0], velocity[:, 5] = 0.5, 0.3
    env.robot.write_root(torch.arange(4), quat=torch.tensor([1.0, 0.0, 0.0, 0.0]).expand(4, 4), vel=velocity)
    env.command_manager[COMMAND][:] = torch.tensor(
        [[1.0, 0.0, 0.0], [0.2, 0.0, 0.1], [-1.0, 0.0, -1.0], [0.0, 0.0, 0.0]]
    )


def test_progress_is_the_speed_along_the_command_up_to_the_commanded_one(env: ManagerBasedRlEnv) -> None:
    moving(env)
    torch.testing.assert_close(mdp.progress(env, COMMAND), torch.tensor([0.5, 0.3, -0.8, 0.0]))
    shares = mdp.progress(env, COMMAND, smallest=0.4)
    torch.testing.assert_close(shares, torch.tensor([0.5, 0.2 / 0.4 + 0.1 / 0.4, -0.8, 0.0]))


def test_nearness_falls_on_both_sides_of_the_command(env: ManagerBasedRlEnv) -> None:
    moving(env)
    near = mdp.Nearness(env, COMMAND, smallest=0.4, over=env.step_dt)
    # half of the speed; 0.3 m/s too fast for at least 0.4; the other way; moving instead of standing
    speed, turning = [0.5, 1 - 0.3 / 0.4, -0.5, 1 - 0.5 / 0.4], [1 - 0.3 / 0.4, 1 - 0.2 / 0.4, -0.3, 1 - 0.3 / 0.4]
    torch.testing.assert_close(near(env), torch.tensor(speed) + torch.tensor(turning))
    env.command_manager[COMMAND][:] = torch.tensor([-2.0, 0.0, -3.0])
    torch.testing.assert_close(near(env), torch.full((4,), -0.25 - 0.1))


def test_nearness_looks_at_the_mean_velocity(env: ManagerBasedRlEnv) -> None:
    moving(env)
    near = mdp.Nearness(env, COMMAND, smallest=0.4, over=4 * env.step_dt)
    near(env)
    torch.testing.assert_close(near.mean[:, 2], env.robot.root_ang_vel[:, 2] / 4)
    near.reset(torch.tensor([0]))
    assert near.mean[0].tolist() == [0.0, 0.0, 0.0]
    assert near.mean[1].abs().sum() > 0.0


def test_a_touching_thigh_costs_once(env: ManagerBasedRlEnv) -> None:
    env.sensors["thighs"].data.in_contact[0, :2] = True
    env.sensors["feet"].data.in_contact[1, 0] = True
    assert mdp.any_contact(env, env.sensors["thighs"]).tolist() == [1.0, 0.0, 0.0, 0.0]
    assert [env.cfg.scene.sensors[name].side_names for name in ("feet", "thighs")] == [FEET, THIGHS]


def test_an_episode_ends_beyond_seventy_degrees(env: ManagerBasedRlEnv) -> None:
    angles = torch.tensor([0.0, 69.0, 71.0, 180.0]).deg2rad()
    quat = torch.stack((torch.cos(angles / 2), torch.sin(angles / 2), torch.zeros(4), torch.zeros(4)), dim=1)
    env.robot.write_root(torch.arange(4), quat=quat)
    term = env.cfg.terminations["tilted"]
    assert term.func(env, **term.params).tolist() == [False, False, True, True]


# Contacts


def test_contact_timers_follow_a_fall_from_a_height(env: ManagerBasedRlEnv) -> None:
    pos = env.robot.root_pos.clone()
    pos[:, 2] = 0.6
    env.robot.write_root(torch.arange(4), pos=pos)
    flight = 0
    sensor = env.sensors["feet"]
    for step in range(1, 101):
        env.step(torch.zeros(4, 12))
        touching = sensor.data.in_contact[0, 0]
        if not touching:
            assert float(sensor.data.air_time[0, 0]) == pytest.approx(step * env.step_dt, abs=1e-5)
            assert float(sensor.data.contact_time[0, 0]) == 0.0
            continue
        flight = step - 1
        break
    assert flight > 5
    assert bool(sensor.data.first_contact[0, 0])
    assert float(sensor.data.last_air_time[0, 0]) == pytest.approx(flight * env.step_dt, abs=1e-5)
    assert float(sensor.data.air_time[0, 0]) == 0.0
    assert float(sensor.data.contact_time[0, 0]) == pytest.approx(env.step_dt)
    for _ in range(100):
        env.step(torch.zeros(4, 12))
    assert not bool(sensor.data.first_contact.any())
    assert float(sensor.data.contact_time[0, 0]) > 1.0
    env.reset(env_ids=torch.tensor([0]))
    assert float(sensor.data.contact_time[0, 0]) == 0.0
    assert float(sensor.data.contact_time[1, 0]) > 1.0


def test_feet_feel_the_robots_weight(env: ManagerBasedRlEnv) -> None:
    for _ in range(100):
        env.step(torch.zeros(4, 12))
    weight = FACTS["total_mass"] * 9.81
    torch.testing.assert_close(
        env.sensors["feet"].data.force[..., 2].sum(dim=1), torch.full((4,), weight), rtol=0.02, atol=0.0
    )


# Commands and pushes


def commands(env: ManagerBasedRlEnv, draws: int = 200) -> torch.Tensor:
    term = env.command_manager.terms["velocity"]
    collected = []
    for _ in range(draws):
        term.resample(torch.arange(env.num_envs))
        collected.append(term.command.clone())
    return torch.cat(collected)


def test_commands_have_the_specified_shares_and_ranges() -> None:
    env = go1_env(64)
    drawn = commands(env)
    standing = (drawn == 0.0).all(dim=1)
    forward = (drawn[:, 1:] == 0.0).all(dim=1) & ~standing
    assert float(standing.float().mean()) == pytest.approx(0.1, abs=0.01)
    assert float(forward.float().mean()) == pytest.approx(0.1, abs=0.01)
    assert 0.3 <= float(drawn[forward, 0].min()) < 0.31
    free = drawn[~standing & ~forward]
    assert bool((free.abs() <= 1.0).all())
    torch.testing.assert_close(free.mean(dim=0), torch.zeros(3), atol=0.02, rtol=0.0)
    torch.testing.assert_close(free.std(dim=0), torch.full((3,), 1 / math.sqrt(3)), atol=0.02, rtol=0.0)
    env.close()


def test_commands_change_after_three_to_eight_seconds() -> None:
    env = go1_env(64)
    term = env.command_manager.terms["velocity"]
    changed = torch.zeros(64)
    first = term.command.clone()
    for step in range(1, 401):
        term.step(0.02)
        new = (term.command != first).any(dim=1) & (changed == 0)
        changed[new] = step * 0.02
    assert 2.99 < float(changed[changed > 0].min()) < 3.6
    assert bool(((changed > 0) | (first == 0.0).all(dim=1)).all())
    env.close()


def test_the_course_is_where_following_the_commands_leads() -> None:
    env = go1_env(2)
    term = env.command_manager.terms["velocity"]
    assert isinstance(term, VelocityCommand)
    term.hold(torch.tensor([[1.0, 0.5, 0.0], [1.0, 0.0, 1.0]]))
    env.reset()
    for _ in range(round(math.pi / 0.02)):
        term.step(0.02)
    straight, half_circle = term.course
    torch.testing.assert_close(straight, torch.tensor([math.pi, math.pi / 2, 0.0]), atol=0.01, rtol=0.0)
    torch.testing.assert_close(half_circle, torch.tensor([0.0, 2.0, math.pi]), atol=0.03, rtol=0.0)
    term.reset(torch.tensor([1]))
    assert term.course[1].tolist() == [0.0, 0.0, 0.0]
    env.close()


def test_held_commands_are_seen_from_the_first_observation_on() -> None:
    env = go1_env(2)
    env.command_manager.terms["velocity"].hold(torch.tensor([[0.5, 0.0, 0.0], [0.0, 0.0, -1.0]]))  # type: ignore[attr-defined]
    for obs in (env.reset(seed=0), env.step(torch.zeros(2, 12))[0]):
        assert obs["policy"][:, 42:].tolist() == [[0.5, 0.0, 0.0], [0.0, 0.0, -1.0]]
    env.close()


STAGES = ((100, "lin_x", -1.5, 2.0), (100, "ang_z", -0.7, 0.7), (200, "lin_x", -2.0, 3.0))


def test_command_ranges_widen_with_the_steps_of_the_environment() -> None:
    def widen(cfg: Any) -> None:
        params = {"command": "velocity", "stages": STAGES}
        cfg.curriculum = {"commands": CurriculumTermCfg(mdp.velocity_curriculum, params=params)}

    env = go1_env(64, change=widen)
    widest = {}
    for steps in (99, 100, 200):
        env.step_count = steps
        env.reset()
        drawn = commands(env, 50)
        widest[steps] = [round(float(value), 1) for value in (drawn[:, 0].min(), drawn[:, 0].max(), drawn[:, 2].max())]
        assert env.pop_episode_stats()["curriculum/commands"] == {99: 1.0, 100: 2.0, 200: 3.0}[steps]
    assert widest == {99: [-1.0, 1.0, 1.0], 100: [-1.5, 2.0, 0.7], 200: [-2.0, 3.0, 0.7]}
    resumed = go1_env(64, change=widen)
    resumed.load_state_dict(env.state_dict())
    assert round(float(commands(resumed, 50)[:, 0].max()), 1) == 3.0  # before any world has reset
    env.close()
    resumed.close()


def test_commands_grow_with_their_ramp() -> None:
    def small_at_first(cfg: Any) -> None:
        cfg.commands[COMMAND].ramp = RampCfg(start=0.3, end=1.0, steps=100)
        cfg.commands[COMMAND].forward_share = 0.0

    env = go1_env(32, change=small_at_first)
    assert float(commands(env).abs().max()) == pytest.approx(0.3, rel=0.02)
    env.step_count = 100
    assert float(commands(env).abs().max()) == pytest.approx(1.0, rel=0.02)
    env.close()


def test_a_stage_with_an_unknown_axis_is_an_error_at_build_time() -> None:
    def wrong(cfg: Any) -> None:
        params = {"command": "velocity", "stages": ((0, "lin_w", 0.0, 1.0),)}
        cfg.curriculum = {"commands": CurriculumTermCfg(mdp.velocity_curriculum, params=params)}

    with pytest.raises(UserError, match="curriculum term 'commands': unknown axis in stages 'lin_w'"):
        go1_env(1, change=wrong)


def test_pushes_set_horizontal_velocity_and_yaw_rate_and_nothing_else() -> None:
    env = go1_env(64)
    env.engine.set_state(torch.arange(64), env.engine.qpos.clone(), torch.full((64, 18), 3.0))
    mdp.push_root(env, torch.arange(32), xy=0.5, yaw=0.5)
    pushed, spared = env.engine.qvel[:32], env.engine.qvel[32:]
    assert bool((spared == 3.0).all())
    assert bool((pushed[:, [2, 3, 4, *range(6, 18)]] == 3.0).all())
    assert 0.4 < float(pushed[:, [0, 1, 5]].abs().max()) <= 0.5
    env.close()


def test_pushes_come_every_one_to_three_seconds_in_training() -> None:
    env = go1_env(64, play=False)
    assert env.cfg.events["push"].interval_s == (1.0, 3.0)
    pushed = torch.zeros(64)
    for _ in range(round(3.1 / env.step_dt)):
        env.event_manager.step(env.step_dt)
        pushed += env.engine.qvel[:, 0] != 0.0
        env.robot.write_root(torch.arange(64), vel=torch.zeros(64, 6))
    assert float(pushed.min()) >= 1.0
    assert float(pushed.max()) <= 3.0
    env.close()


def test_a_single_axis_command_keeps_one_axis_of_some_worlds_and_leaves_the_others() -> None:
    env = go1_env(64)
    wanted = torch.tensor([0.5, -0.4, 0.3])
    env.command_manager[COMMAND][:] = wanted
    mdp.single_axis_command(env, torch.arange(48), COMMAND)
    asked, spared = env.command_manager[COMMAND][:48], env.command_manager[COMMAND][48:]
    assert bool((spared == wanted).all())
    assert bool(((asked == 0.0) | (asked == wanted)).all())
    assert bool(((asked != 0.0).sum(dim=1) == 1).all())
    assert bool((asked != 0.0).any(dim=0).all())  # each axis in some world
    env.close()


# Disturbances of the robot


def fall_and_walk(env: ManagerBasedRlEnv, randomize: Callable[..., None] | None, **params: Any) -> torch.Tensor:
    """Joint positions of two worlds with the same start and actions, of which only the second one is randomised."""
    worlds = torch.arange(2)
    start, speed = env.engine.qpos[:1].repeat(2, 1), torch.zeros(2, 18)
    start[:, :2], speed[:, 0] = 0.0, 1.0
    env.engine.set_state(worlds, start, speed)
    if randomize is not None:
        randomize(env, torch.tensor([1]), **params)
    draw = torch.Generator().manual_seed(3)
    for _ in range(20):
        env.step(torch.randn(1, 12, generator=draw).repeat(2, 1))
    return env.robot.joint_pos.clone()


TRUNK = torch.tensor([0])
RANDOMISATIONS: list[tuple[Callable[..., None], dict[str, Any]]] = [
    (mdp.randomize_friction, {"geoms": "robot/.*_foot", "low": 0.05, "high": 0.06}),
    (mdp.randomize_mass, {"bodies": TRUNK, "low": 2.0, "high": 3.0}),
    (mdp.randomize_com, {"bodies": TRUNK, "offset": (0.05, 0.05, 0.05)}),
    (mdp.randomize_gains, {"low": 0.6, "high": 0.7}),
    (mdp.randomize_joints, {"field": "joint_armature", "low": 2.0, "high": 3.0}),
    (mdp.randomize_gravity, {"low": 0.5, "high": 0.6}),
    (mdp.randomize_encoder_bias, {"half_width": 0.1}),
    (mdp.randomize_joints, {"field": "joint_damping", "low": 2.0, "high": 3.0, "shared": True}),
    (
        mdp.randomize_contacts,
        {"geoms": "robot/.*_foot|ground", "time_constant": (2.0, 3.0), "impedance": (0.2, 0.3), "depth": (0.01, 0.02)},
    ),
    (mdp.randomize_contact_model, {"share": 1.0, "impratio": (50.0, 100.0)}),
    (mdp.randomize_latency, {"low": 1, "high": 1}),
]


def test_two_worlds_that_are_not_randomised_move_alike() -> None:
    env = go1_env(2)
    pos = fall_and_walk(env, None)
    assert torch.equal(pos[0], pos[1])
    env.close()


@pytest.mark.parametrize(("randomize", "params"), RANDOMISATIONS, ids=lambda value: getattr(value, "__name__", ""))
def test_randomisation_changes_the_motion_of_its_worlds_only(
    randomize: Callable[..., None], params: dict[str, Any]
) -> None:
    untouched, env = go1_env(2), go1_env(2)
    expected, pos = fall_and_walk(untouched, None), fall_and_walk(env, randomize, **params)
    torch.testing.assert_close(pos[0], expected[0], atol=1e-6, rtol=0.0)
    assert float((pos[1] - pos[0]).abs().max()) > 1e-3
    untouched.close()
    env.close()


def test_an_encoder_with_a_bias_shows_another_position_than_the_true_one() -> None:
    env = go1_env(2)
    mdp.randomize_encoder_bias(env, torch.tensor([1]), half_width=0.015)
    shown = mdp.joint_pos_rel(env) + env.robot.default_joint_pos - env.robot.joint_pos
    assert float(shown[0].abs().max()) < 1e-6
    assert 0.005 < float(shown[1].abs().max()) <= 0.0151
    env.close()


def test_a_delayed_action_arrives_after_its_latency() -> None:
    def delay(cfg: Any) -> None:
        cfg.actions["legs"].latency = (2, 2)

    env = go1_env(2, change=delay)
    for step in range(5):
        env.step(torch.full((2, 12), float(step + 1)))
        arrived = (env.engine.ctrl - env.robot.default_joint_pos) / 0.25
        torch.testing.assert_close(arrived, torch.full((2, 12), float(max(0, step - 1))))
    env.close()


def test_latencies_are_drawn_per_world_from_their_range() -> None:
    def delay(cfg: Any) -> None:
        cfg.actions["legs"].latency = (0, 2)

    env = go1_env(64, change=delay)
    assert set(env.action_manager.terms["legs"].delay.tolist()) == {0, 1, 2}
    env.close()


def robust_env(num_envs: int, seed: int = 2) -> ManagerBasedRlEnv:
    cfg = resolve("Genelab-Velocity-Flat-Unitree-Go1-v0", preset="robust").env_cfg
    cfg.num_envs = num_envs
    return ManagerBasedRlEnv(cfg, seed=seed)


@pytest.fixture(scope="module")
def robust() -> Iterator[ManagerBasedRlEnv]:
    made = robust_env(64)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("field", "low", "high"),
    [
        ("actuator_kp", 0.75, 1.33),
        ("actuator_kd", 0.75, 1.33),
        ("joint_damping", 0.45, 2.2),
        ("joint_friction", 0.45, 2.2),
        ("body_mass", 0.78, 1.28),
        ("body_inertia", 0.78, 1.28),
    ],
)
def test_the_robust_preset_scales_a_field_of_all_joints_or_bodies_alike(
    robust: ManagerBasedRlEnv, field: str, low: float, high: float
) -> None:
    compiled = nominal(robust.scene.model, field)
    ratio = (robust.engine.model_field(field) / compiled)[:, compiled > 0.0]
    torch.testing.assert_close(ratio, ratio[:, :1].expand_as(ratio))
    assert low <= float(ratio.min()) < low + 0.1 * (high - low)
    assert high - 0.1 * (high - low) < float(ratio.max()) <= high + 1e-6


def test_as_many_worlds_have_half_of_a_field_as_have_twice() -> None:
    env = go1_env(512)
    mdp.randomize_joints(env, env.worlds, field="joint_damping", low=0.25, high=4.0, shared=True)
    factors = (env.engine.model_field("joint_damping") / nominal(env.scene.model, "joint_damping"))[:, -1]
    shares = [float((factors < bound).float().mean()) for bound in (0.5, 1.0, 2.0)]
    assert shares == pytest.approx([0.25, 0.5, 0.75], abs=0.06)
    env.close()


def test_a_factor_of_zero_is_an_error() -> None:
    env = go1_env(2)
    with pytest.raises(UserError, match="'body_mass', so low must be above 0, not 0"):
        mdp.randomize_mass(env, env.worlds, bodies=TRUNK, low=0.0, high=1.0, operation="scale")
    env.close()


def test_the_robust_preset_softens_the_contacts_of_feet_and_ground(robust: ManagerBasedRlEnv) -> None:
    model, engine = robust.scene.model, robust.engine
    walks = torch.tensor([model.geom(i).name.endswith(("_foot", "ground")) for i in range(model.ngeom)])
    solref, solimp = engine.model_field("geom_solref"), engine.model_field("geom_solimp")
    assert (solref[:, walks, 0] >= 0.02 - 1e-6).all()
    assert (solref[:, walks, 0] <= 0.04 + 1e-6).all()
    assert (solref[:, ~walks, 0] == 0.02).all()
    assert solimp[:, walks, 0].unique().numel() == solimp[:, walks, 2].unique().numel() == 64
    other = engine.model_field("cone") == 1.0
    assert 0 < int(other.sum()) < 20
    assert (engine.model_field("impratio")[~other] == 1.0).all()
    assert (engine.model_field("impratio")[other] > 1.0).all()


def test_latencies_of_the_robust_preset_stay_with_their_worlds(robust: ManagerBasedRlEnv) -> None:
    legs = robust.action_manager.terms["legs"]
    before = legs.delay.clone()
    assert set(before.tolist()) == {0, 1}
    robust.reset()
    assert torch.equal(legs.delay, before)


def test_a_robust_training_continues_exactly_in_other_worlds() -> None:
    first, second = robust_env(4), robust_env(4, seed=9)
    action = torch.randn(4, 12, generator=torch.Generator().manual_seed(0))
    for _ in range(3):
        first.step(action)
    second.load_state_dict(first.state_dict())
    for _ in range(5):
        (expected, reward, *_), (found, again, *_) = first.step(action), second.step(action)
        assert torch.equal(reward, again)
        assert torch.equal(expected["policy"], found["policy"])
    for env in (first, second):
        env.close()


def test_randomised_latency_beside_one_of_the_action_is_an_error() -> None:
    def delay(cfg: Any) -> None:
        cfg.actions["legs"].latency = (0, 1)
        cfg.events["late"] = EventTermCfg(mdp.randomize_latency, mode="startup", params={"low": 0, "high": 1})

    with pytest.raises(UserError, match="event term 'late': action 'legs' has a latency of its own"):
        go1_env(2, change=delay)


class FixedContacts(MujocoEngine):
    """MuJoCo whose worlds all have the same contacts."""

    capabilities = dataclasses.replace(
        MujocoEngine.capabilities, model_fields=MujocoEngine.capabilities.model_fields - {"geom_solref"}
    )


def test_a_randomisation_beyond_the_engine_names_term_engine_and_field(monkeypatch: pytest.MonkeyPatch) -> None:
    target = f"{FixedContacts.__module__}:{FixedContacts.__name__}"
    monkeypatch.setitem(ENGINES, "mujoco", dataclasses.replace(ENGINES["mujoco"], target=target))
    with pytest.raises(UserError, match=r"event term 'contacts': engine 'mujoco' cannot do 'geom_solref'"):
        robust_env(2)
