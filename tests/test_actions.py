"""Actions of joints by kind, and of actuators by name."""

import pytest
import torch

from genelab import mdp
from genelab.core.errors import UserError
from genelab.core.overrides import apply, check_read
from genelab.envs import EventTermCfg
from genelab.mdp import ActuatorActionCfg, JointActionCfg, JointPositionActionCfg
from genelab.scene.scene import EntityCfg
from user_models import links, make

ACTUATORS = {
    "position": '<position name="on_{joint}" joint="{joint}" kp="20" kv="1"/>',
    "velocity": '<velocity name="on_{joint}" joint="{joint}" kv="2"/>',
    "effort": '<motor name="on_{joint}" joint="{joint}" gear="3"/>',
}


def robot(kind: str) -> EntityCfg:
    made = links("".join(ACTUATORS[kind].format(joint=joint) for joint in "ab"))
    made.joint_pos = {"a": 0.5, "b": -0.5}
    return made


@pytest.mark.parametrize(
    ("kind", "expected"), [("position", [0.7, -0.9]), ("velocity", [0.2, -0.4]), ("effort", [0.2, -0.4])]
)
def test_the_control_is_the_scaled_action_and_for_positions_the_default_pose_beside_it(kind, expected):
    env = make(robot(kind), actions={"joints": JointActionCfg(kind=kind, scale=0.2)})
    env.step(torch.tensor([[1.0, -2.0]]).repeat(2, 1))
    torch.testing.assert_close(env.engine.ctrl[0], torch.tensor(expected))


def test_a_motor_of_a_users_model_gives_the_torque_that_was_asked_for():
    env = make(robot("effort"), actions={"joints": JointActionCfg(kind="effort")})
    env.step(torch.tensor([[0.1, 0.0]]).repeat(2, 1))
    torch.testing.assert_close(env.robot.actuator_force[0], torch.tensor([0.1, 0.0]))
    assert env.robot.joint_vel[0, 0].abs() > 0.01


@pytest.mark.parametrize(
    ("asked", "there"),
    [("position", "effort"), ("position", "velocity"), ("velocity", "effort"), ("effort", "position")],
)
def test_an_actuator_of_another_kind_is_refused_by_name(asked, there):
    with pytest.raises(UserError, match=f"joint 'a' .* kind {asked}: its actuator 'on_a' is of kind {there}"):
        make(robot(there), actions={"joints": JointActionCfg(kind=asked)})


@pytest.mark.parametrize(
    ("actuator", "kind"),
    [
        ('<intvelocity joint="a" kp="20" actrange="-1 1"/>', "velocity"),
        ('<position joint="a" kp="20" timeconst="0.1"/>', "position"),
        ('<general joint="a" gainprm="40"/>', "effort"),
        ('<general joint="a" gainprm="20" biastype="affine" biasprm="0 -20 -1"/>', "position"),
        ('<damper joint="a" kv="1" ctrlrange="0 1"/>', "other"),
        ('<general joint="a" gainprm="20" biastype="affine" biasprm="0 -10 0"/>', "other"),
    ],
)
def test_the_kind_of_an_actuator_is_what_its_control_means(actuator, kind):
    assert make(links(actuator)).robot.layout.actuator_kinds == (kind,)


def test_of_several_actuators_of_a_joint_the_one_of_the_kind_is_taken():
    pair = ACTUATORS["position"] + '<velocity name="damper" joint="{joint}" kv="1"/>'
    env = make(links(pair.format(joint="a")), actions={"joint": JointPositionActionCfg(joints="a")})
    env.step(torch.ones(2, 1))
    assert env.engine.ctrl[0].tolist() == [1.0, 0.0]


def test_several_actuators_of_one_kind_and_joint_are_refused_by_name():
    pair = ACTUATORS["effort"] + '<motor name="second" joint="{joint}"/>'
    with pytest.raises(UserError, match="joint 'a' of 'robot' has several actuators of kind effort: 'on_a', 'second'"):
        make(links(pair.format(joint="a")), actions={"joint": JointActionCfg(kind="effort", joints="a")})


@pytest.mark.parametrize("kind", ["position", "effort"])
def test_the_bias_of_encoders_moves_the_targets_of_position_servos_and_nothing_else(kind):
    events = {"bias": EventTermCfg(mdp.randomize_encoder_bias, mode="startup", params={"half_width": 0.1})}
    env = make(robot(kind), actions={"joints": JointActionCfg(kind=kind, default_offset=False)}, events=events)
    env.step(torch.zeros(2, 2))
    assert bool(env.engine.ctrl.any()) == (kind == "position")


@pytest.mark.parametrize("kind", ACTUATORS)
def test_an_action_describes_its_kind_for_deployment(kind):
    env = make(robot(kind), actions={"joints": JointActionCfg(kind=kind)})
    described = env.action_manager.terms["joints"].describe()
    assert described["kind"] == f"Joint{kind.capitalize()}Action"
    assert described["entity"] == "robot"


def test_an_offset_of_an_effort_would_have_no_effect():
    cfg = make(robot("effort"), actions={"joints": JointActionCfg(kind="effort")}).cfg
    changes = apply({"env": cfg}, [("env.actions.joints.default_offset", "false")])
    with pytest.raises(UserError, match="an action of kind effort has no offset"):
        check_read({"env": cfg}, changes)


def test_an_actuator_action_controls_what_is_no_joint():
    tendon = '<motor name="pull" tendon="cable"/>'
    env = make(links(tendon), actions={"cable": ActuatorActionCfg(actuators="pull", scale=0.5)})
    env.step(torch.ones(2, 1))
    assert env.engine.ctrl[0].tolist() == [0.5]
    assert env.action_manager.terms["cable"].describe()["actuators"] == ["pull"]
    with pytest.raises(UserError, match=r"actuator 'pul' is not in 'robot' \(did you mean 'pull'"):
        make(links(tendon), actions={"cable": ActuatorActionCfg(actuators="pul")})
