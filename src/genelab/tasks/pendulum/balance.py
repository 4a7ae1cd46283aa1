"""Balance one pole, or two on top of each other, on a cart."""

from genelab import mdp
from genelab.envs import (
    DoneTermCfg,
    EventTermCfg,
    ManagerBasedRlEnvCfg,
    MetricTermCfg,
    ObservationGroupCfg,
    ObservationTermCfg,
    RewardTermCfg,
    SimulationCfg,
    SuccessTermCfg,
)
from genelab.mdp import JointPositionActionCfg
from genelab.scene.robots.cartpole import double_pole, single_pole
from genelab.scene.scene import GroundCfg, SceneCfg


def single(play: bool = False) -> ManagerBasedRlEnvCfg:
    """Balance one pole on a cart.

    A position servo drives the cart. The actor sees joint positions, joint velocities and the pole's angular velocity,
    all with noise. An episode that is not over before its time is a success.
    """
    return ManagerBasedRlEnvCfg(
        scene=SceneCfg(robots={"robot": single_pole()}, ground=GroundCfg(collide=False)),
        simulation=SimulationCfg(dt=0.005),
        num_envs=64 if play else 4096,
        decimation=2,
        episode_length_s=10.0,
        actions={"cart": JointPositionActionCfg(joints="slide")},
        observations=_observations("pole"),
        rewards={
            "alive": RewardTermCfg(mdp.alive, weight=1.0),
            "upright": RewardTermCfg(mdp.cos_joint, weight=3.0, params={"joint": "hinge"}),
            "pole_angle": RewardTermCfg(mdp.joint_pos_l2, weight=-0.5, params={"joints": "hinge"}),
            "cart_position": RewardTermCfg(mdp.joint_pos_l2, weight=-0.05, params={"joints": "slide"}),
            "cart_velocity": RewardTermCfg(mdp.joint_vel_l2, weight=-0.005, params={"joints": "slide"}),
            "pole_velocity": RewardTermCfg(mdp.joint_vel_l2, weight=-0.01, params={"joints": "hinge"}),
            "action_rate": RewardTermCfg(mdp.action_rate_l2, weight=-0.005),
        },
        terminations=_terminations({"hinge": 0.4}),
        events=_events(play, every=(2.0, 5.0), velocity=0.5),
        metrics={"cart_distance": MetricTermCfg(mdp.joint_abs, params={"joint": "slide"})},
        success=SuccessTermCfg(mdp.survived),
        camera="robot/side",
    )


def double(play: bool = False) -> ManagerBasedRlEnvCfg:
    """Balance two poles on top of each other on a cart.

    A position servo drives the cart. The actor sees joint positions, joint velocities and the upper pole's angular
    velocity, all with noise. An episode that is not over before its time is a success.
    """
    hinges = ("hinge", "hinge_2")
    return ManagerBasedRlEnvCfg(
        scene=SceneCfg(robots={"robot": double_pole()}, ground=GroundCfg(collide=False)),
        simulation=SimulationCfg(dt=0.005),
        num_envs=64 if play else 4096,
        decimation=2,
        episode_length_s=12.0,
        actions={"cart": JointPositionActionCfg(joints="slide")},
        observations=_observations("pole_2"),
        rewards={
            "alive": RewardTermCfg(mdp.alive, weight=1.0),
            "upright": RewardTermCfg(mdp.cos_pole_chain, weight=4.0, params={"joints": hinges}),
            "alignment": RewardTermCfg(
                mdp.joint_difference_l2, weight=-0.5, params={"joint_a": "hinge", "joint_b": "hinge_2"}
            ),
            "cart_position": RewardTermCfg(mdp.joint_pos_l2, weight=-0.05, params={"joints": "slide"}),
            "cart_velocity": RewardTermCfg(mdp.joint_vel_l2, weight=-0.005, params={"joints": "slide"}),
            "pole_velocity": RewardTermCfg(mdp.joint_vel_l2, weight=-0.005, params={"joints": hinges}),
            "action_rate": RewardTermCfg(mdp.action_rate_l2, weight=-0.005),
        },
        terminations=_terminations({"hinge": 0.5, "hinge_2": 0.7}),
        events=_events(play, every=(3.0, 6.0), velocity=0.3),
        metrics={"cart_distance": MetricTermCfg(mdp.joint_abs, params={"joint": "slide"})},
        success=SuccessTermCfg(mdp.survived),
        camera="robot/side",
    )


def _observations(pole: str) -> dict[str, ObservationGroupCfg]:
    def terms() -> dict[str, ObservationTermCfg]:
        return {
            "joint_pos": ObservationTermCfg(mdp.joint_pos_rel, noise=0.005),
            "joint_vel": ObservationTermCfg(mdp.joint_vel, noise=0.05, scale=0.1),
            "pole_ang_vel": ObservationTermCfg(mdp.body_ang_vel, params={"body": pole}, noise=0.1, scale=0.2),
            "last_action": ObservationTermCfg(mdp.last_action),
        }

    return {
        "policy": ObservationGroupCfg(terms=terms(), noise=True),
        "critic": ObservationGroupCfg(terms=terms()),
    }


def _terminations(limits: dict[str, float]) -> dict[str, DoneTermCfg]:
    fallen = {
        f"fallen_{joint}": DoneTermCfg(mdp.joint_beyond, params={"joint": joint, "limit": limit})
        for joint, limit in limits.items()
    }
    return {
        "time_out": DoneTermCfg(mdp.time_out, time_out=True),
        **fallen,
        "off_track": DoneTermCfg(mdp.joint_beyond, params={"joint": "slide", "limit": 2.4}),
    }


def _events(play: bool, every: tuple[float, float], velocity: float) -> dict[str, EventTermCfg]:
    events = {"jitter": EventTermCfg(mdp.jitter_joints, params={"pos": 0.05, "vel": 0.05})}
    if not play:
        events["push"] = EventTermCfg(
            mdp.push_joint, mode="interval", interval_s=every, params={"joint": "slide", "velocity": velocity}
        )
    return events
