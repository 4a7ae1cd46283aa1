"""Balance one pole, or two on top of each other, on a cart."""

from genelab import envs, mdp
from genelab.envs import DoneTermCfg, EventTermCfg, ManagerBasedRlEnvCfg, ObservationTermCfg, RewardTermCfg
from genelab.scene.robots.cartpole import double_pole, single_pole
from genelab.scene.scene import EntityCfg, GroundCfg, SceneCfg


def single(play: bool = False) -> ManagerBasedRlEnvCfg:
    """Balance one pole on a cart.

    A position servo drives the cart. The actor sees joint positions, joint velocities and the pole's angular velocity,
    all with noise. An episode that is not over before its time is a success.
    """
    return _task(
        play,
        single_pole(),
        seconds=10.0,
        pole="pole",
        upright={
            "upright": RewardTermCfg(mdp.cos_joint, weight=3.0, params={"joint": "hinge"}),
            "pole_angle": RewardTermCfg(mdp.joint_pos_l2, weight=-0.5, params={"joints": "hinge"}),
        },
        pole_velocity=RewardTermCfg(mdp.joint_vel_l2, weight=-0.01, params={"joints": "hinge"}),
        limits={"hinge": 0.4},
        push=pushes(every=(2.0, 5.0), velocity=0.5),
    )


def double(play: bool = False) -> ManagerBasedRlEnvCfg:
    """Balance two poles on top of each other on a cart.

    A position servo drives the cart. The actor sees joint positions, joint velocities and the upper pole's angular
    velocity, all with noise. An episode that is not over before its time is a success.
    """
    lower, upper = hinges = ("hinge", "hinge_2")
    poles = {"joint_a": lower, "joint_b": upper}
    return _task(
        play,
        double_pole(),
        seconds=12.0,
        pole="pole_2",
        upright={
            "upright": RewardTermCfg(mdp.cos_pole_chain, weight=4.0, params={"joints": hinges}),
            "alignment": RewardTermCfg(mdp.joint_difference_l2, weight=-0.5, params=poles),
        },
        pole_velocity=RewardTermCfg(mdp.joint_vel_l2, weight=-0.005, params={"joints": hinges}),
        limits={lower: 0.5, upper: 0.7},
        push=pushes(every=(3.0, 6.0), velocity=0.3),
    )


def pushes(every: tuple[float, float], velocity: float) -> EventTermCfg:
    """Pushes of the cart, up to a velocity, m/s, with so many seconds between them."""
    params = {"joint": "slide", "velocity": velocity}
    return EventTermCfg(mdp.push_joint, mode="interval", interval_s=every, params=params)


def _task(
    play: bool,
    robot: EntityCfg,
    *,
    seconds: float,
    pole: str,
    upright: dict[str, RewardTermCfg],
    pole_velocity: RewardTermCfg,
    limits: dict[str, float],
    push: EventTermCfg,
) -> ManagerBasedRlEnvCfg:
    """What both tasks share. `pole` is the upper one, `limits` are of the hinges' angles, rad."""

    def terms() -> dict[str, ObservationTermCfg]:
        return {
            "joint_pos": ObservationTermCfg(mdp.joint_pos_rel, noise=0.005),
            "joint_vel": ObservationTermCfg(mdp.joint_vel, noise=0.05, scale=0.1),
            "pole_ang_vel": ObservationTermCfg(mdp.body_ang_vel, params={"body": pole}, noise=0.1, scale=0.2),
            "last_action": ObservationTermCfg(mdp.last_action),
        }

    bounds = {f"fallen_{joint}": {"joint": joint, "limit": limit} for joint, limit in limits.items()}
    bounds["off_track"] = {"joint": "slide", "limit": 2.4}
    jitter = EventTermCfg(mdp.jitter_joints, params={"pos": 0.05, "vel": 0.05})
    ends = {name: DoneTermCfg(mdp.joint_beyond, params=params) for name, params in bounds.items()}
    return ManagerBasedRlEnvCfg(
        scene=SceneCfg(robots={"robot": robot}, ground=GroundCfg(collide=False)),
        simulation=envs.SimulationCfg(dt=0.005),
        num_envs=64 if play else 4096,
        decimation=2,
        episode_length_s=seconds,
        actions={"cart": mdp.JointPositionActionCfg(joints="slide")},
        observations={
            "policy": envs.ObservationGroupCfg(terms=terms(), noise=True),
            "critic": envs.ObservationGroupCfg(terms=terms()),
        },
        rewards={
            "alive": RewardTermCfg(mdp.alive, weight=1.0),
            **upright,
            "cart_position": RewardTermCfg(mdp.joint_pos_l2, weight=-0.05, params={"joints": "slide"}),
            "cart_velocity": RewardTermCfg(mdp.joint_vel_l2, weight=-0.005, params={"joints": "slide"}),
            "pole_velocity": pole_velocity,
            "action_rate": RewardTermCfg(mdp.action_rate_l2, weight=-0.005),
        },
        terminations={"time_out": DoneTermCfg(mdp.time_out, time_out=True), **ends},
        events={"jitter": jitter} if play else {"jitter": jitter, "push": push},
        metrics={"cart_distance": envs.MetricTermCfg(mdp.joint_abs, params={"joint": "slide"})},
        success=envs.SuccessTermCfg(mdp.survived),
        camera="robot/side",
    )
