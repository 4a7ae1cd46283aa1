"""A task with two robots for tests: each cart balances its pole, and both stay near the middle of their rails."""

from genelab import mdp
from genelab.core.registry import TaskSpec
from genelab.envs import (
    DoneTermCfg,
    EventTermCfg,
    ManagerBasedRlEnvCfg,
    MetricTermCfg,
    ObservationGroupCfg,
    ObservationTermCfg,
    RewardTermCfg,
    SuccessTermCfg,
)
from genelab.mdp import JointPositionActionCfg
from genelab.scene.objects import box, marker
from genelab.scene.robots.cartpole import double_pole, single_pole
from genelab.scene.scene import SceneCfg

TWO_CARTS = "Test-Two-Carts-v0"


def env_cfg(play: bool = False) -> ManagerBasedRlEnvCfg:
    """Two carts with one and with two poles side by side, with two boxes and a marker between them."""
    left, right = single_pole(), double_pole()
    left.pos, right.pos = (0.0, 1.0, 0.0), (0.0, -1.0, 0.0)
    observed = {
        f"{cart}_{name}": ObservationTermCfg(func, params={"entity": cart})
        for cart in ("left", "right")
        for name, func in (("pos", mdp.joint_pos_rel), ("vel", mdp.joint_vel))
    }
    return ManagerBasedRlEnvCfg(
        scene=SceneCfg(
            robots={"left": left, "right": right},
            objects={"near": box(0.1, (0.5, 0, 0.1)), "far": box(0.1, (-0.5, 0, 0.1)), "goal": marker(0.1)},
        ),
        decimation=2,
        episode_length_s=1.0,
        actions={
            "left": JointPositionActionCfg(joints="slide"),
            "right": JointPositionActionCfg(joints="right/slide"),
        },
        observations={
            "policy": ObservationGroupCfg(terms=observed),
            "critic": ObservationGroupCfg(
                terms={**observed, "box": ObservationTermCfg(mdp.object_pos, params={"entity": "far"})}
            ),
        },
        rewards={
            "alive": RewardTermCfg(mdp.alive, weight=1.0),
            "left": RewardTermCfg(mdp.cos_joint, weight=1.0, params={"joint": "hinge"}),
            "right": RewardTermCfg(mdp.cos_pole_chain, weight=1.0, params={"joints": ("right/hinge", "right/hinge_2")}),
            "middle": RewardTermCfg(mdp.joint_pos_l2, weight=-0.1, params={"entity": "right", "joints": "slide"}),
        },
        terminations={
            "time_out": DoneTermCfg(mdp.time_out, time_out=True),
            "fallen": DoneTermCfg(mdp.joint_beyond, params={"joint": "right/hinge", "limit": 0.6}),
        },
        metrics={"right": MetricTermCfg(mdp.joint_abs, params={"joint": "right/slide"})},
        success=SuccessTermCfg(mdp.survived),
        events={
            "left": EventTermCfg(mdp.jitter_joints, params={"pos": 0.05, "vel": 0.05}),
            "right": EventTermCfg(mdp.jitter_joints, params={"pos": 0.05, "vel": 0.05, "entity": "right"}),
            "box": EventTermCfg(mdp.place_object, params={"entity": "far", "xy": 0.1}),
        },
    )


SPEC = TaskSpec(
    id=TWO_CARTS,
    summary="for tests",
    env="two_carts:env_cfg",
    agents={"rsl_rl": "genelab.tasks.pendulum.agents:single_ppo"},
)
