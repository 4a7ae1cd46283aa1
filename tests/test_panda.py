"""The Panda is the real one, its hand moves as it is asked to, and holds what it grips."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import mujoco
import numpy as np
import pytest
import torch

from genelab.core.errors import UserError
from genelab.core.math import quat_conjugate, quat_mul
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.mdp.cartesian import GravityTorque, HandDisplacementAction
from genelab.scene.robots.panda import ARM, FINGERS, GRIP_HEIGHT, START, arm, panda
from genelab.tasks.manipulation.franka import pick_and_place
from robot_facts import check_body, check_joint

FACTS = json.loads((Path(__file__).parent / "data/panda.json").read_text())
BODIES = {body["name"]: body for body in FACTS["bodies"]}
JOINTS = {joint["name"]: joint for body in FACTS["bodies"] for joint in body["joints"]}
HAND = list(BODIES).index("hand")
GAINS = {"kp": 2000.0, "kd": 200.0, "effort": 87.0, "hand_kp": 1e4, "hand_kd": 200.0, "hand_effort": 100.0}


def panda_env(num_envs: int = 4, change: Callable[[ManagerBasedRlEnvCfg], object] = lambda cfg: None):
    cfg = pick_and_place(play=True)
    cfg.num_envs, cfg.simulation.threads, cfg.observations["policy"].noise = num_envs, 1, False
    change(cfg)
    return ManagerBasedRlEnv(cfg, seed=3)


@pytest.fixture
def env() -> Iterator[ManagerBasedRlEnv]:
    made = panda_env()
    yield made
    made.close()


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    """Without what the servos add to the joints' inertia."""
    return arm(**GAINS, dt=0.0).compile()


def hand_pos(env: ManagerBasedRlEnv) -> torch.Tensor:
    return env.robot.body_pos[:, HAND].clone()


def turned(env: ManagerBasedRlEnv, before: torch.Tensor) -> torch.Tensor:
    """Angle between the present and an earlier orientation of the hand, rad."""
    return 2 * quat_mul(env.robot.body_quat[:, HAND], quat_conjugate(before))[:, 1:].norm(dim=-1).asin()


def act(env: ManagerBasedRlEnv, *action: float, steps: int = 1) -> None:
    for _ in range(steps):
        env.step(torch.tensor([action]).expand(env.num_envs, 4))


# The robot


def test_the_robot_has_exactly_the_known_bodies_and_joints_in_their_order(model: mujoco.MjModel) -> None:
    assert [model.body(i).name for i in range(1, model.nbody)] == list(BODIES)
    assert [model.joint(i).name for i in range(model.njnt)] == list(JOINTS) == [*ARM, *FINGERS]
    assert (model.nq, model.nv) == (FACTS["nq"], FACTS["nv"])
    assert model.body_mass.sum() == pytest.approx(FACTS["total_mass"], abs=5e-5)


@pytest.mark.parametrize("name", list(BODIES))
def test_masses_inertias_and_frames_are_the_known_ones(model: mujoco.MjModel, name: str) -> None:
    check_body(model, name, BODIES[name])


@pytest.mark.parametrize("name", list(JOINTS))
def test_joints_have_the_known_axes_limits_damping_armature_and_friction(model: mujoco.MjModel, name: str) -> None:
    check_joint(model, name, JOINTS[name])
    assert model.joint(name).armature[0] == JOINTS[name]["armature"]


def test_targets_are_bounded_as_known_and_servos_have_the_specified_gains(model: mujoco.MjModel) -> None:
    known = {actuator["joint"]: actuator["ctrl_range"] for actuator in FACTS["actuators"] if actuator["joint"]}
    for name in (*ARM, *FINGERS):
        servo = model.actuator(name)
        kp, kd, effort = (2000.0, 200.0, 87.0) if name in ARM else (1e4, 200.0, 100.0)
        assert (servo.gainprm[0], servo.biasprm[1], servo.biasprm[2]) == (kp, -kp, -kd)
        np.testing.assert_array_equal(servo.forcerange, (-effort, effort))
        np.testing.assert_array_equal(servo.ctrlrange, known.get(name, (0.0, 0.04)))


def test_servos_integrate_their_damping_as_inertia_of_one_physics_step() -> None:
    heavier = arm(**GAINS, dt=0.005).compile()
    np.testing.assert_allclose(heavier.dof_armature, 0.1 + 200.0 * 0.005)


@pytest.mark.parametrize("finger", ["left", "right"])
def test_pads_cover_the_known_pads_with_their_inner_faces(model: mujoco.MjModel, finger: str) -> None:
    pad = model.geom(f"{finger}_pad")
    known = [shape for shape in BODIES[f"{finger}_finger"]["shapes"] if shape["type"] == "box"]
    low = np.min([np.subtract(shape["pos"], shape["size"]) for shape in known], axis=0)
    high = np.max([np.add(shape["pos"], shape["size"]) for shape in known], axis=0)
    np.testing.assert_allclose(pad.pos - pad.size, low, atol=1e-12)
    np.testing.assert_allclose((pad.pos + pad.size)[[0, 2]], high[[0, 2]], atol=1e-12)
    assert (pad.pos + pad.size)[1] >= high[1]


def test_only_hand_and_fingers_collide_and_not_with_each_other(model: mujoco.MjModel) -> None:
    solid = [model.geom(i).name for i in range(model.ngeom) if model.geom_conaffinity[i]]
    assert sorted(solid) == ["hand", "left_finger", "left_pad", "right_finger", "right_pad"]
    assert not model.geom_contype.any()


def test_the_robot_starts_as_specified_with_the_hand_pointing_down(env: ManagerBasedRlEnv) -> None:
    assert tuple(panda().joint_pos.values()) == (*START, 0.04, 0.04) == (0, 0.41, 0, -1.85, 0, 2.26, 0.79, 0.04, 0.04)
    grip = env.entities["robot"].body_pos[0, -2:].mean(dim=0) - torch.tensor([0.0, 0.0, 0.0445])
    torch.testing.assert_close(grip, hand_pos(env)[0] - torch.tensor([0.0, 0.0, GRIP_HEIGHT]), atol=1e-5, rtol=0)


# The hand


def test_weight_is_the_torque_of_gravity(env: ManagerBasedRlEnv) -> None:
    draw = torch.Generator().manual_seed(0)
    joints = env.robot.default_joint_pos + 0.5 * torch.rand(4, 9, generator=draw) - 0.25
    env.robot.write_joints(torch.arange(4), joints, torch.zeros(4, 9))
    found = GravityTorque(env, env.robot, list(range(7)))()
    for world in range(4):
        # At rest, what MuJoCo takes off the joint forces is gravity.
        torch.testing.assert_close(
            found[world], -torch.tensor(env.engine.world_data(world).qfrc_bias[:7]).float(), atol=1e-4, rtol=1e-4
        )


def test_a_zero_action_holds_the_arm_where_it_is(env: ManagerBasedRlEnv) -> None:
    before, orientation = hand_pos(env), env.robot.body_quat[:, HAND].clone()
    act(env, 0.0, 0.0, 0.0, 0.0, steps=40)
    assert (hand_pos(env) - before).norm(dim=-1).max() < 1e-3
    assert turned(env, orientation).max() < 2e-3


@pytest.mark.parametrize("direction", [(-1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, -1.0), (-0.6, 0.7, -0.3)])
def test_the_hand_moves_where_it_is_asked_to_and_keeps_its_orientation(
    env: ManagerBasedRlEnv, direction: tuple[float, float, float]
) -> None:
    before, orientation = hand_pos(env), env.robot.body_quat[:, HAND].clone()
    act(env, *direction, 0.0, steps=4)
    act(env, 0.0, 0.0, 0.0, 0.0, steps=4)
    moved, asked = hand_pos(env) - before, torch.tensor(direction)
    assert torch.cosine_similarity(moved, asked.expand(4, 3)).min() > 0.98
    assert moved.norm(dim=-1).min() > 0.25 * 4 * 0.05 * asked.norm()  # a servo covers part of it within a step
    assert moved.norm(dim=-1).max() <= 4 * 0.05 * asked.norm()
    assert turned(env, orientation).max() < 0.02


def test_the_hand_turns_back_to_its_orientation(env: ManagerBasedRlEnv) -> None:
    orientation = env.robot.body_quat[:, HAND].clone()
    joints = env.robot.default_joint_pos.repeat(4, 1)
    joints[:, 6] += 0.3
    env.robot.write_joints(torch.arange(4), joints)
    act(env, 0.0, 0.0, 0.0, 0.0, steps=30)
    assert turned(env, orientation).max() < 0.01


def test_targets_are_a_damped_least_squares_step_from_where_the_joints_are(env: ManagerBasedRlEnv) -> None:
    action = torch.tensor([[0.4, -0.2, 0.6, 0.0]]).expand(4, 4)
    env.action_manager.process(action)
    term = env.action_manager.terms["hand"]
    assert isinstance(term, HandDisplacementAction)
    jacobian = env.engine.jacobian(int(env.robot.layout.body_ids[HAND]))[:, :, :7].double()
    wanted = torch.cat((0.05 * action[:, :3], torch.zeros(4, 3)), dim=1).double().unsqueeze(-1)
    damped = jacobian.mT @ jacobian + 0.05**2 * torch.eye(7)
    expected = torch.linalg.solve(damped, jacobian.mT @ wanted).squeeze(-1)
    step = (
        env.engine.ctrl[:, :7] - env.robot.joint_pos[:, :7] + GravityTorque(env, env.robot, list(range(7)))() / 2000.0
    )
    torch.testing.assert_close(step.double(), expected, atol=1e-4, rtol=1e-3)


def test_no_joint_is_asked_to_go_further_than_the_bound() -> None:
    env = panda_env(change=lambda cfg: setattr(cfg.actions["hand"], "scale", 1.0))
    env.action_manager.process(torch.ones(4, 4))
    step = (
        env.engine.ctrl[:, :7] - env.robot.joint_pos[:, :7] + GravityTorque(env, env.robot, list(range(7)))() / 2000.0
    )
    assert step.abs().max() == pytest.approx(0.2, abs=1e-5)


def test_a_body_that_is_not_there_is_an_error() -> None:
    with pytest.raises(UserError, match="action term 'hand': body 'hnad' is not in 'robot'"):
        panda_env(change=lambda cfg: setattr(cfg.actions["hand"], "hand", "hnad"))


# The gripper


@pytest.mark.parametrize(("action", "target"), [(1.0, 0.04), (-0.1, 0.03), (-1.0, 0.0)])
def test_fingers_go_to_their_mean_position_plus_the_action_within_their_limits(
    env: ManagerBasedRlEnv, action: float, target: float
) -> None:
    env.action_manager.process(torch.tensor([[0.0, 0.0, 0.0, action]]).expand(4, 4))
    torch.testing.assert_close(env.engine.ctrl[:, 7:], torch.full((4, 2), target))


def test_fingers_close_and_open_all_the_way_together(env: ManagerBasedRlEnv) -> None:
    for action, end in ((-1.0, 0.0), (1.0, 0.04)):
        act(env, 0.0, 0.0, 0.0, action, steps=6)
        assert (env.robot.joint_pos[:, 7:] - end).abs().max() < 1e-3
        assert (env.robot.joint_pos[:, 7] - env.robot.joint_pos[:, 8]).abs().max() < 1e-4


def test_a_grip_holds_the_cube_through_fast_moves(env: ManagerBasedRlEnv) -> None:
    cube = env.entities["cube"]
    between = hand_pos(env) - torch.tensor([0.0, 0.0, GRIP_HEIGHT])
    cube.write_root(torch.arange(4), between, vel=torch.zeros(4, 6))
    act(env, 0.0, 0.0, 0.0, -1.0, steps=2)
    for direction in ((0.0, 1.0, 0.0), (-1.0, -1.0, 0.0), (0.0, 0.0, 1.0), (0.0, -1.0, -1.0)):
        act(env, *direction, -1.0, steps=4)
    held = hand_pos(env) - torch.tensor([0.0, 0.0, GRIP_HEIGHT]) - cube.root_pos
    assert held.norm(dim=-1).max() < 0.03  # it fell a little before the fingers had it
    assert (env.robot.joint_pos[:, 7:] - 0.02).abs().max() < 2e-3
