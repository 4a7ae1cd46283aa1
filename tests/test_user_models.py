"""What a user's own MJCF may contain: parts without names, transmissions of every kind, ball joints."""

import math

import pytest
import torch

from genelab import mdp
from genelab.core.errors import UserError
from genelab.envs import (
    EventTermCfg,
    ManagerBasedEnv,
    ManagerBasedEnvCfg,
    ManagerBasedRlEnv,
    ObservationGroupCfg,
    ObservationTermCfg,
    RewardTermCfg,
)
from genelab.mdp import JointPositionActionCfg
from genelab.scene.objects import box, marker
from genelab.scene.scene import Scene, SceneCfg
from user_models import entity, links, make, task


def test_parts_without_a_name_are_named_after_what_they_belong_to():
    xml = """
    <mujoco>
      <worldbody>
        <body>
          <freejoint/>
          <geom size=".1"/>
          <body name="leg"><joint name="leg"/><geom size=".1"/></body>
        </body>
      </worldbody>
      <actuator><motor joint="leg"/><position joint="leg"/></actuator>
    </mujoco>
    """
    layout = Scene(SceneCfg(robots={"robot": entity(xml)}), 0.005).entities["robot"]
    assert layout.body_names == ("body_1", "leg")
    assert layout.free_qpos == 0
    assert layout.joint_names == ("leg",)
    assert layout.actuator_names == ("leg", "leg_2")
    assert layout.actuated_joints == ("leg", "leg")


def test_a_joint_without_a_name_is_called_like_its_body():
    pole = '<body name="pole"><joint/><joint type="slide"/><geom size=".1"/></body>'
    xml = f"<mujoco><worldbody>{pole}</worldbody></mujoco>"
    layout = Scene(SceneCfg(robots={"robot": entity(xml)}), 0.005).entities["robot"]
    assert layout.joint_names == ("pole", "pole_2")


@pytest.mark.parametrize(
    ("actuator", "driven"),
    [
        ('<position name="servo" tendon="cable" kp="9"/>', "tendon 'cable'"),
        ('<position name="servo" site="tip" kp="9"/>', "site 'tip'"),
        ('<adhesion name="servo" body="lower" ctrlrange="0 1"/>', "body 'lower'"),
    ],
)
def test_an_actuator_of_something_else_than_a_joint_drives_no_joint(actuator, driven):
    layout = Scene(SceneCfg(robots={"robot": links(actuator)}), 0.005).entities["robot"]
    assert layout.actuated_joints == (None,)
    assert layout.transmissions == (driven,)
    for joint in "ab":
        with pytest.raises(UserError, match=f"joint '{joint}' of 'robot' has no actuator.*{driven}"):
            make(links(actuator), actions={"joint": JointPositionActionCfg(joints=joint)})


def test_a_task_without_a_robot_is_a_users_error():
    for scene in (SceneCfg(), SceneCfg(objects={"box": box(0.1, (0, 0, 1))})):
        with pytest.raises(UserError, match="a task needs a robot"):
            ManagerBasedRlEnv(task(scene))


def test_a_scene_in_which_nothing_can_move_is_a_users_error():
    for scene in (SceneCfg(), SceneCfg(objects={"mark": marker(0.1)})):
        with pytest.raises(UserError, match="nothing in the scene can move"):
            ManagerBasedEnv(ManagerBasedEnvCfg(scene=scene))


def test_objects_alone_can_be_played_back_and_are_no_robot():
    env = ManagerBasedEnv(ManagerBasedEnvCfg(scene=SceneCfg(objects={"box": box(0.1, (0, 0, 1))})))
    env.play_step()
    assert torch.equal(env.entities["box"].root_pos, env.engine.qpos[:, :3])
    with pytest.raises(UserError, match="the scene has no robot"):
        _ = env.robot


SHOULDER = """
<mujoco>
  <worldbody>
    <body name="arm" pos="0 0 1">
      <joint name="shoulder" type="ball"/>
      <geom type="capsule" size=".02" fromto="0 0 0 .3 0 0"/>
      <body name="forearm" pos=".3 0 0">
        <joint name="elbow" axis="0 1 0"/>
        <geom type="capsule" size=".02" fromto="0 0 0 .3 0 0"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="elbow" joint="elbow"/></actuator>
</mujoco>
"""


def test_ball_joints_are_in_joint_observations_as_rotation_vectors():
    terms = {"pos": ObservationTermCfg(mdp.joint_pos_rel), "vel": ObservationTermCfg(mdp.joint_vel)}
    env = make(entity(SHOULDER), observations={"policy": ObservationGroupCfg(terms=terms)})
    angle = 0.6
    qpos = torch.tensor([[math.cos(angle / 2), 0.0, 0.0, math.sin(angle / 2), 0.2]]).repeat(2, 1)
    env.engine.set_state(torch.arange(2), qpos, torch.tensor([[0.1, 0.2, 0.3, 0.4]]).repeat(2, 1))
    expected = torch.tensor([0.2, 0.0, 0.0, angle, 0.4, 0.1, 0.2, 0.3])
    torch.testing.assert_close(env.observation_manager.compute()["policy"], expected.repeat(2, 1))


@pytest.mark.parametrize(
    "parts",
    [
        {"events": {"new": EventTermCfg(mdp.jitter_joints, params={"pos": 0.1, "vel": 0.1})}},
        {"events": {"new": EventTermCfg(mdp.randomize_encoder_bias, params={"half_width": 0.1})}},
        {"rewards": {"new": RewardTermCfg(mdp.joint_limits, weight=1.0)}},
        {"rewards": {"new": RewardTermCfg(mdp.JointAccL2, weight=1.0)}},
        {"rewards": {"new": RewardTermCfg(mdp.joint_pos_l2, weight=1.0, params={"joints": ".*"})}},
        {"rewards": {"new": RewardTermCfg(mdp.cos_joint, weight=1.0, params={"joint": "shoulder"})}},
        {"actions": {"new": JointPositionActionCfg()}},
    ],
)
def test_what_cannot_take_a_ball_joint_refuses_it_by_name(parts):
    with pytest.raises(UserError, match=r"term 'new'.*ball joint 'shoulder'"):
        make(entity(SHOULDER), **parts)


def test_other_joints_of_a_robot_with_ball_joints_can_be_named():
    make(entity(SHOULDER), rewards={"new": RewardTermCfg(mdp.joint_pos_l2, weight=1.0, params={"joints": "elbow"})})


WALKER = """
<mujoco>
  <worldbody>
    <body name="trunk">
      <freejoint name="root"/>
      <geom size=".1"/>
      <body name="leg"><joint name="hip" type="ball"/><geom size=".1"/>
        <body name="shin"><joint name="knee"/><geom size=".1"/></body>
      </body>
    </body>
  </worldbody>
  <keyframe>
    <key name="zero"/>
    <key name="home" qpos="0.1 0 0.5 1 0 0 0  0.8 0 0.6 0  0.3"/>
  </keyframe>
</mujoco>
"""


def test_a_keyframe_of_the_model_is_the_default_pose():
    scene = Scene(SceneCfg(robots={"other": links(""), "robot": entity(WALKER, keyframe="home")}), 0.005)
    assert scene.default_qpos.tolist() == [0.0, 0.0, 0.1, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0, 0.8, 0.0, 0.6, 0.0, 0.3]


def test_a_keyframe_is_relative_to_where_the_entity_stands_and_joint_pos_goes_over_it():
    turned = math.sqrt(0.5)
    walker = entity(WALKER, keyframe="home", pos=(0, 0, 2), quat=(turned, 0, 0, turned), joint_pos={"knee": 0.7})
    pose = Scene(SceneCfg(robots={"robot": walker}), 0.005).default_qpos
    assert pose[:7] == pytest.approx([0.0, 0.1, 2.5, turned, 0.0, 0.0, turned])
    assert pose[-1] == 0.7


def test_an_environment_starts_in_its_keyframe():
    env = make(entity(WALKER, keyframe="home"))
    assert env.engine.qpos[1].tolist() == pytest.approx(env.scene.default_qpos.tolist())


def test_an_unknown_keyframe_is_an_error_with_the_nearest_name():
    with pytest.raises(UserError, match=r"keyframe of 'robot' 'hom' \(did you mean 'home'"):
        make(entity(WALKER, keyframe="hom"))


IMU = """
<mujoco>
  <worldbody>
    <body name="ball" pos="0 0 1">
      <freejoint name="root"/>
      <geom size=".1"/>
      <site name="imu"/>
    </body>
  </worldbody>
  <sensor><gyro name="gyro" site="imu"/><accelerometer name="accelerometer" site="imu"/></sensor>
</mujoco>
"""


def imu_terms(sensor: str) -> dict[str, ObservationGroupCfg]:
    term = ObservationTermCfg(mdp.model_sensor, params={"sensor": sensor})
    return {"policy": ObservationGroupCfg(terms={"imu": term})}


def test_sensors_of_a_users_model_can_be_observed():
    env = make(entity(IMU), observations=imu_terms("gyro"))
    env.engine.set_state(torch.arange(2), env.engine.qpos.clone(), torch.tensor([[0.0, 0, 0, 1, 2, 3]]).repeat(2, 1))
    torch.testing.assert_close(
        env.observation_manager.compute()["policy"], torch.tensor([[1.0, 2.0, 3.0]]).repeat(2, 1)
    )


def test_the_first_observation_of_an_episode_is_of_that_episode():
    env = make(entity(IMU), observations=imu_terms("gyro"))
    env.engine.set_state(torch.arange(2), env.engine.qpos.clone(), torch.ones(2, 6))
    env.step(torch.zeros(2, 0))
    assert env.obs["policy"].min() > 0.9
    assert not env.reset()["policy"].any()


def test_an_unknown_sensor_is_an_error_that_names_term_and_nearest_sensor():
    with pytest.raises(UserError, match=r"term 'policy.imu': unknown sensor of 'robot' 'gyr' \(did you mean 'gyro'"):
        make(entity(IMU), observations=imu_terms("gyr"))
