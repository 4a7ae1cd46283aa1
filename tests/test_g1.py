"""The G1 is the real one, stands on its feet, feels itself, and looks the same in a mirror."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import mujoco
import numpy as np
import pytest
import torch

from evened import evened
from genelab.envs import ManagerBasedRlEnv
from genelab.mdp.symmetry import Mirror
from genelab.scene.robots.g1 import ACTION_SCALES, MIRROR, MOTORS, SIDES, g1, humanoid, motor_of
from genelab.scene.terrain import TerrainCfg
from genelab.tasks.velocity.g1 import flat, rough
from robot_facts import check_body, check_joint

FACTS = json.loads((Path(__file__).parent / "data/g1.json").read_text())
BODIES = {body["name"]: body for body in FACTS["bodies"]}
JOINTS = {joint["name"]: joint for body in FACTS["bodies"] for joint in body["joints"] if joint["type"] == "hinge"}


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return humanoid(height=BODIES["pelvis"]["pos"][2]).compile()


# The robot


def test_the_robot_has_exactly_the_known_bodies_and_joints_in_their_order(model: mujoco.MjModel) -> None:
    assert [model.body(i).name for i in range(1, model.nbody)] == list(BODIES)
    assert [model.joint(i).name for i in range(1, model.njnt)] == list(JOINTS)
    assert (model.nq, model.nv, model.nu) == (FACTS["nq"], FACTS["nv"], 29)
    assert model.body_mass.sum() == pytest.approx(FACTS["total_mass"], abs=5e-5)


@pytest.mark.parametrize("name", list(BODIES))
def test_masses_inertias_frames_and_sites_are_the_known_ones(model: mujoco.MjModel, name: str) -> None:
    check_body(model, name, BODIES[name])
    for site in BODIES[name]["sites"]:
        np.testing.assert_array_equal(model.site(site["name"]).pos, site["pos"])


@pytest.mark.parametrize("name", list(JOINTS))
def test_joints_have_the_known_axes_limits_damping_and_friction(model: mujoco.MjModel, name: str) -> None:
    check_joint(model, name, JOINTS[name])


def test_joints_without_motors_have_the_known_armature() -> None:
    path = Path(__file__).parent.parent / "src/genelab/scene/robots/g1.xml"
    bare = mujoco.MjModel.from_xml_path(str(path))
    assert {name: bare.joint(name).armature[0] for name in JOINTS} == {n: j["armature"] for n, j in JOINTS.items()}


SPECIFIED = {
    (0.004336, 17.117, 1.0897, 25.0, 0.3651): [
        *(f"{s}_{part}_joint" for s in SIDES for part in ("shoulder_pitch", "shoulder_roll", "shoulder_yaw")),
        *(f"{s}_{part}_joint" for s in SIDES for part in ("elbow", "wrist_roll")),
    ],
    (0.012574, 49.639, 3.1601, 88.0, 0.4432): [
        *(f"{s}_{part}_joint" for s in SIDES for part in ("hip_pitch", "hip_yaw")),
        "waist_yaw_joint",
    ],
    (0.032119, 126.8, 8.0723, 139.0, 0.2741): [f"{s}_{part}_joint" for s in SIDES for part in ("hip_roll", "knee")],
    (0.004250, 16.778, 1.0681, 5.0, 0.0745): [f"{s}_wrist_{part}_joint" for s in SIDES for part in ("pitch", "yaw")],
    (0.008672, 34.234, 2.1794, 50.0, 0.3651): [
        *(f"{s}_ankle_{part}_joint" for s in SIDES for part in ("pitch", "roll")),
        "waist_pitch_joint",
        "waist_roll_joint",
    ],
}
"""Reflected inertia, stiffness, damping, largest torque and action scale, and the joints that have them."""


def test_motors_have_the_specified_inertias_gains_limits_and_scales(model: mujoco.MjModel) -> None:
    assert sorted(joint for joints in SPECIFIED.values() for joint in joints) == sorted(JOINTS)
    for (inertia, kp, kd, effort, scale), joints in SPECIFIED.items():
        for joint in joints:
            servo = model.actuator(joint)
            assert model.joint(joint).armature[0] == inertia
            assert servo.gainprm[0] == -servo.biasprm[1] == pytest.approx(kp, rel=1e-4)
            assert -servo.biasprm[2] == pytest.approx(kd, rel=1e-4)
            assert servo.forcerange.tolist() == [-effort, effort]
            assert motor_of(joint).action_scale == pytest.approx(scale, abs=5e-5)
    assert sum(len(motor.parts) for motor in MOTORS) == len(ACTION_SCALES)


@pytest.mark.parametrize("side", SIDES)
def test_the_feet_stand_where_the_known_spheres_stand_and_nothing_else_touches_the_ground(
    model: mujoco.MjModel, side: str
) -> None:
    # Theirs have 5 mm, which sink into height fields. Ours are larger and as deep.
    known = [shape for shape in BODIES[f"{side}_ankle_roll_link"]["shapes"] if shape["type"] == "sphere"]
    for i, shape in enumerate(known):
        sphere = model.geom(f"{side}_foot_{i + 1}")
        assert sphere.type[0] == mujoco.mjtGeom.mjGEOM_SPHERE.value
        assert sphere.size[0] == 0.02
        np.testing.assert_array_equal(sphere.pos[:2], shape["pos"][:2])
        assert sphere.pos[2] - sphere.size[0] == pytest.approx(shape["pos"][2] - shape["size"][0])
        np.testing.assert_array_equal(sphere.friction, shape["friction"])
    grounded = (model.geom_conaffinity & 1 | model.geom_contype & 1).astype(bool)
    on_foot = model.geom_bodyid == model.body(f"{side}_ankle_roll_link").id
    assert sum(grounded & on_foot) == len(known) == 4


def test_the_robot_starts_as_specified() -> None:
    robot = g1()
    assert robot.params["height"] == 0.76
    pose = {"hip_pitch": -0.312, "knee": 0.669, "ankle_pitch": -0.363, "elbow": 0.6, "shoulder_pitch": 0.2}
    expected = {f"{side}_{part}_joint": angle for side in SIDES for part, angle in pose.items()}
    assert robot.joint_pos == {**expected, "left_shoulder_roll_joint": 0.2, "right_shoulder_roll_joint": -0.2}


# Contacts


def g1_env(num_envs: int = 2) -> ManagerBasedRlEnv:
    cfg = flat(play=True)
    cfg.num_envs, cfg.simulation.dt, cfg.decimation, cfg.simulation.threads = num_envs, 0.005, 4, 1
    cfg.observations["policy"].noise = False
    return ManagerBasedRlEnv(cfg, seed=2)


@pytest.fixture(scope="module")
def two_worlds() -> Iterator[ManagerBasedRlEnv]:
    made = g1_env()
    yield made
    made.close()


@pytest.fixture
def env(two_worlds: ManagerBasedRlEnv) -> ManagerBasedRlEnv:
    """Two worlds at the beginning of an episode."""
    two_worlds.reset(seed=2)
    return two_worlds


def targets(env: ManagerBasedRlEnv, world: int, **angles: float) -> torch.Tensor:
    """Actions that ask joints of one world to be somewhere else than in the default pose."""
    action = torch.zeros(env.num_envs, 29)
    for part, angle in angles.items():
        joint = env.robot.joint_names.index(f"{part}_joint")
        action[world, joint] = angle / motor_of(f"{part}_joint").action_scale
    return action


def test_feet_feel_the_robots_weight(env: ManagerBasedRlEnv) -> None:
    forces = []
    for _ in range(20):
        env.step(torch.zeros(2, 29))
        forces.append(env.sensors["feet"].data.force[..., 2].sum(dim=1).mean())
    assert float(torch.stack(forces[5:]).mean()) == pytest.approx(FACTS["total_mass"] * 9.81, rel=0.1)
    assert bool(env.sensors["feet"].data.in_contact.all())


@pytest.mark.parametrize(
    ("pose", "sides"),
    [
        ({"left_hip_roll": -0.5, "right_hip_roll": 0.5}, [True, True, False, False]),  # knees together
        ({"left_shoulder_roll": -1.0}, [False, False, True, False]),  # an arm against the trunk
        ({"right_shoulder_pitch": -0.5, "right_shoulder_roll": -0.6}, [False] * 4),  # lifted away from it
    ],
)
def test_limbs_that_press_against_the_robot_are_felt(
    env: ManagerBasedRlEnv, pose: dict[str, float], sides: list[bool]
) -> None:
    felt = torch.zeros(2, 4, dtype=torch.bool)
    env.robot.write_root(
        torch.arange(2), pos=torch.tensor([[0.0, 0.0, 2.0], [2.0, 0.0, 2.0]])
    )  # no ground to hold feet
    for _ in range(20):
        env.step(targets(env, 1, **pose))
        felt |= env.sensors["self"].data.in_contact
    assert felt.tolist() == [[False] * 4, sides]


def test_a_robot_that_falls_lies_on_the_ground(env: ManagerBasedRlEnv) -> None:
    half = math.sqrt(0.5)
    env.robot.write_root(
        torch.arange(2),
        pos=torch.tensor([[0.0, 0.0, 0.2], [2.0, 0.0, 0.3]]),
        quat=torch.tensor([[half, 0.0, half, 0.0], [half, half, 0.0, 0.0]]),  # on its face, and on its side
    )
    env.engine.step(400)
    assert float(env.robot.root_pos[:, 2].min()) > 0.04


# The mirror


def symmetric_g1(height: float) -> mujoco.MjSpec:
    return evened(humanoid(height), MIRROR)


def test_a_mirrored_rollout_is_the_mirror_image_of_the_rollout() -> None:
    cfg = flat(play=True)
    cfg.num_envs, cfg.simulation.dt, cfg.decimation, cfg.simulation.threads = 2, 0.005, 4, 1
    cfg.observations["policy"].noise = False
    cfg.scene.robots["robot"].model = symmetric_g1
    env = ManagerBasedRlEnv(cfg, seed=1)
    mirror, draw = Mirror(env, MIRROR), torch.Generator().manual_seed(4)
    turn = torch.nn.functional.normalize(torch.tensor([1.0, 0.05, -0.04, 0.4]), dim=0)
    joints = env.robot.default_joint_pos + 0.05 * torch.randn(29, generator=draw)
    qpos = torch.cat((torch.tensor([0.1, 0.2, 0.76]), turn, joints))
    qvel = torch.cat((0.2 * torch.randn(6, generator=draw), 0.3 * torch.randn(29, generator=draw)))
    seen_pos, seen_vel = qpos.clone(), qvel.clone()
    seen_pos[[1, 4, 6]] *= -1.0  # y, and the quaternion's x and z
    seen_vel[[1, 3, 5]] *= -1.0
    seen_pos[7:], seen_vel[6:] = mirror.action(qpos[7:]), mirror.action(qvel[6:])
    env.engine.set_state(torch.arange(2), torch.stack((qpos, seen_pos)), torch.stack((qvel, seen_vel)))
    env.command_manager["velocity"][:] = torch.tensor([[0.5, 0.3, -0.4], [0.5, -0.3, 0.4]])
    for _ in range(15):
        action = 0.5 * torch.randn(29, generator=draw)
        obs, reward, *_ = env.step(torch.stack((action, mirror.action(action))))
        for group, seen in mirror.observations(obs).items():
            torch.testing.assert_close(obs[group][1], seen[0], atol=5e-3, rtol=5e-3)
        assert float(reward[0]) == pytest.approx(float(reward[1]), abs=1e-3)
    assert float(env.robot.joint_vel.abs().max()) > 1.0  # something did happen
    assert bool(env.sensors["feet"].data.in_contact.any())
    env.close()


def test_the_declared_signs_are_those_of_the_joints_axes(model: mujoco.MjModel, env: ManagerBasedRlEnv) -> None:
    """Seen in a mirror, a turn about y stays what it is and turns about x and z go the other way."""
    mirror = Mirror(env, MIRROR)
    for number, name in enumerate(JOINTS):
        assert mirror.action.sign[number] == (1.0 if model.joint(name).axis[1] else -1.0)
        partner = name.replace("left", "LEFT").replace("right", "left").replace("LEFT", "right")
        assert list(JOINTS)[mirror.action.index[number]] == partner


def test_mirroring_twice_changes_nothing(env: ManagerBasedRlEnv) -> None:
    cfg = rough(play=True)
    cfg.num_envs, cfg.simulation.threads = 2, 1
    cfg.scene.terrain = TerrainCfg(rows=2, columns=("slope_up",), cell=6.0, border=1.0, spread=True)
    scanning = ManagerBasedRlEnv(cfg, seed=1)
    assert {name: value.shape[1] for name, value in scanning.obs.items()} == {"policy": 283, "critic": 298}
    for made in (env, scanning):
        mirror = Mirror(made, MIRROR)
        obs = {name: torch.randn_like(value) for name, value in made.obs.items()}
        for name, value in mirror.observations(mirror.observations(obs)).items():
            assert torch.equal(value, obs[name])
        action = torch.randn(2, 29)
        assert torch.equal(mirror.action(mirror.action(action)), action)
    scanning.close()
