"""Terms about any entity of a scene, and a task with two robots from training to export."""

import pytest
import torch

from genelab import mdp
from genelab.core.errors import UserError
from genelab.envs import (
    EventTermCfg,
    JointRef,
    ManagerBasedRlEnv,
    ObservationGroupCfg,
    ObservationTermCfg,
    RewardTermCfg,
)
from genelab.experiment.evaluate import run_evaluation
from genelab.experiment.export import ExportRequest, run_export
from genelab.mdp import JointPositionActionCfg
from two_carts import SPEC, TWO_CARTS, env_cfg


def make(**changes) -> ManagerBasedRlEnv:
    """Two carts in four worlds, with terms added to the task's own."""
    cfg = env_cfg()
    cfg.num_envs = 4
    for part, terms in changes.items():
        getattr(cfg, part).update(terms)
    return ManagerBasedRlEnv(cfg)


@pytest.fixture(scope="module")
def env() -> ManagerBasedRlEnv:
    return make()


def test_each_action_moves_the_cart_it_names(env):
    env.reset()
    left, right = env.entities["left"], env.entities["right"]
    assert env.robot is left
    before = left.joint_pos[:, 0].clone(), right.joint_pos[:, 0].clone()
    for _ in range(5):
        env.step(torch.tensor([0.0, 1.0]).repeat(4, 1))
    assert (left.joint_pos[:, 0] - before[0]).abs().max() < 0.02
    assert (right.joint_pos[:, 0] - before[1]).min() > 0.05


def test_each_observation_is_of_the_cart_it_names(env):
    obs = env.reset()["policy"]
    left, right = env.entities["left"], env.entities["right"]
    expected = torch.cat((left.joint_pos, left.joint_vel, right.joint_pos, right.joint_vel), dim=1)
    torch.testing.assert_close(obs, expected)


def test_a_slash_in_a_joints_name_selects_the_entity_as_its_parameter_does(env):
    rewards = {
        "slash": RewardTermCfg(mdp.joint_pos_l2, weight=1.0, params={"joints": "right/slide"}),
        "parameter": RewardTermCfg(mdp.joint_pos_l2, weight=1.0, params={"joints": "slide", "entity": "right"}),
        "both": RewardTermCfg(mdp.joint_pos_l2, weight=1.0, params={"joints": "right/slide", "entity": "right"}),
    }
    env = make(rewards=rewards)
    env.step(torch.ones(4, 2))
    sums = dict(zip(env.cfg.rewards, env.reward_manager.episode_sums, strict=True))
    assert sums["slash"].min() > 0.0
    assert torch.equal(sums["slash"], sums["parameter"])
    assert torch.equal(sums["slash"], sums["both"])


def only_the_first(env: ManagerBasedRlEnv, joint: JointRef) -> torch.Tensor:
    return env.robot.joint_pos[:, joint]


@pytest.mark.parametrize(
    ("term", "message"),
    [
        (
            RewardTermCfg(mdp.joint_pos_l2, weight=1.0, params={"joints": "left/slide", "entity": "right"}),
            "reward term 'new': its parameters name parts of several entities: left, right",
        ),
        (
            RewardTermCfg(only_the_first, weight=1.0, params={"joint": "right/slide"}),
            "reward term 'new': only_the_first has no parameter 'entity', so it cannot be about 'right'",
        ),
        (
            RewardTermCfg(mdp.joint_pos_l2, weight=1.0, params={"joints": "slide", "entity": "rigth"}),
            r"reward term 'new': unknown entity 'rigth' \(did you mean 'right'",
        ),
        (
            RewardTermCfg(mdp.joint_pos_l2, weight=1.0, params={"joints": "right/slid"}),
            r"reward term 'new': joint 'slid' is not in 'right' \(did you mean 'slide'",
        ),
    ],
)
def test_references_that_cannot_be_meant_are_users_errors(term, message):
    with pytest.raises(UserError, match=message):
        make(rewards={"new": term})


def test_a_term_about_the_first_robot_alone_may_name_it():
    make(rewards={"new": RewardTermCfg(only_the_first, weight=1.0, params={"joint": "left/slide"})})


def test_an_action_whose_entity_and_joints_disagree_is_a_users_error():
    with pytest.raises(UserError, match="action term 'new': its parameters name parts of several entities"):
        make(actions={"new": JointPositionActionCfg(entity="left", joints="right/slide")})


def test_events_of_another_entity_do_not_shift_the_draws_of_the_first():
    both, alone = make(), env_cfg()
    del alone.events["right"]
    alone.num_envs = 4
    alone = ManagerBasedRlEnv(alone)
    for env in (both, alone):
        env.reset(seed=3)
    assert torch.equal(both.robot.joint_pos, alone.robot.joint_pos)
    assert not torch.equal(both.entities["right"].joint_pos[:, 0], both.robot.joint_pos[:, 0])


def test_every_entity_can_be_randomised_by_itself():
    names = ("body_mass", "joint_armature", "actuator_kp")
    params = {"low": 2.0, "high": 3.0, "entity": "right"}
    events = {
        "mass": EventTermCfg(
            mdp.randomize_mass, mode="startup", params={**params, "bodies": ".*", "operation": "scale"}
        ),
        "armature": EventTermCfg(mdp.randomize_joints, mode="startup", params={**params, "field": "joint_armature"}),
        "gains": EventTermCfg(mdp.randomize_gains, mode="startup", params=params),
        "encoders": EventTermCfg(
            mdp.randomize_encoder_bias, mode="startup", params={"half_width": 0.1, "entity": "right"}
        ),
    }
    env, plain = make(events=events), make()
    for field in names:
        ratio = env.engine.model_field(field) / plain.engine.model_field(field)
        layouts = [env.entities[name].layout for name in ("left", "right")]
        ids = {"body_mass": "body_ids", "joint_armature": "qvel_ids", "actuator_kp": "actuator_ids"}[field]
        left, right = (ratio[:, getattr(layout, ids)].nan_to_num(2.5) for layout in layouts)
        assert (left == 1.0).all() or field == "joint_armature", field
        assert ((right >= 2.0) & (right <= 3.0)).all(), field
    assert env.entities["left"].encoder_bias is None
    assert env.entities["right"].encoder_bias.abs().max() > 0.0


def test_a_resumed_environment_with_two_robots_continues_exactly():
    first, second = make(), make()
    action = torch.tensor([0.2, -0.3]).repeat(4, 1)
    for _ in range(5):
        first.step(action)
    second.load_state_dict(first.state_dict())
    for _ in range(20):
        expected, found = first.step(action), second.step(action)
        assert torch.equal(expected[0]["policy"], found[0]["policy"])
        assert torch.equal(expected[1], found[1])


def test_a_task_with_two_robots_trains_evaluates_and_exports(tmp_path, offer, train_tiny):
    offer(SPEC)
    _, result = train_tiny(tmp_path / "run", task=TWO_CARTS)
    evaluation = run_evaluation(TWO_CARTS, result.checkpoint, episodes=8, num_envs=4, say=lambda line: None)
    assert evaluation["metrics"]["return_mean"] > 0.0
    metadata = run_export(
        ExportRequest(TWO_CARTS, result.checkpoint, out=tmp_path / "policy.onnx", format="onnx"), say=lambda line: None
    )
    assert [(action["entity"], action["joints"]) for action in metadata["actions"]] == [
        ("left", ["slide"]),
        ("right", ["slide"]),
    ]
    assert metadata["obs_groups"]["policy"]["terms"][2]["params"] == {"entity": "right"}
    assert metadata["robot"]["joint_names"] == ["slide", "hinge"]
    assert [robot["joint_names"] for robot in metadata["other_robots"]] == [["slide", "hinge", "hinge_2"]]


def test_observations_of_one_term_and_two_entities_are_two_terms():
    terms = {name: ObservationTermCfg(mdp.joint_vel, params={"entity": name}) for name in ("left", "right")}
    env = make(observations={"new": ObservationGroupCfg(terms=terms)})
    assert env.observation_manager.groups["new"].term_dims == {"left": 2, "right": 3}
