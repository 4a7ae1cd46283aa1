"""The Franka Panda picks up a cube and brings it to a goal."""

from typing import Any

from genelab import envs, mdp
from genelab.envs import DoneTermCfg, ManagerBasedRlEnvCfg, ObservationGroupCfg, ObservationTermCfg
from genelab.mdp import GripperActionCfg, HandDisplacementActionCfg, PlaceCommandCfg
from genelab.rl.cfg import OffPolicyCfg, Sb3AgentCfg
from genelab.scene.objects import box, marker
from genelab.scene.robots.panda import ARM, FINGERS, HAND, panda
from genelab.scene.scene import SceneCfg

CUBE, GOAL = "cube", "goal"
HALF_SIZE = 0.02
"""Half an edge of the cube, metres: also the height of its middle when it lies on the ground."""
AREA = 0.15
"""Cube and goal lie within this distance of (0.5, 0) along x and y, metres."""
RADIUS = 0.05
"""How far from the goal the cube may be, metres."""


def pick_and_place(play: bool = False) -> ManagerBasedRlEnvCfg:
    """Pick up a cube and bring it to a goal on the ground or in the air.

    The hand keeps its orientation; actions move it and its fingers. The task is goal-conditioned: the reward depends
    only on where the cube is and where it should be, so that a learner can pay any step for any goal.
    """
    cube, away = {"entity": CUBE}, {"entity": CUBE, "command": GOAL}
    cube_pos = ObservationTermCfg(mdp.object_pos, params=cube)
    goal_pos = ObservationTermCfg(mdp.generated_command, params={"command": GOAL})
    objects = {CUBE: box(HALF_SIZE, pos=(0.5, 0.0, HALF_SIZE)), GOAL: marker(HALF_SIZE)}
    low, high = (0.5 - AREA, -AREA, HALF_SIZE), (0.5 + AREA, AREA, 0.2)
    return ManagerBasedRlEnvCfg(
        scene=SceneCfg(robots={"robot": panda()}, objects=objects),
        # Published as a step of 0.01 s with 2 substeps, 5 of them per control step.
        simulation=envs.SimulationCfg(dt=0.005),
        num_envs=64,
        decimation=10,
        episode_length_s=5.0,
        actions={"hand": HandDisplacementActionCfg(joints=ARM, hand=HAND), "gripper": GripperActionCfg(joints=FINGERS)},
        commands={GOAL: PlaceCommandCfg(low=low, high=high, low_share=0.3, marker=GOAL)},
        observations={
            "policy": ObservationGroupCfg(
                terms={
                    "joint_pos": ObservationTermCfg(mdp.joint_pos_rel, noise=0.005),
                    "joint_vel": ObservationTermCfg(mdp.joint_vel, noise=0.05, scale=0.1),
                    "hand": ObservationTermCfg(mdp.body_pos, params={"body": HAND}),
                    "cube": cube_pos,
                    "goal": goal_pos,
                    "cube_to_goal": ObservationTermCfg(mdp.object_to_command, params=away),
                    "last_action": ObservationTermCfg(mdp.last_action),
                    "remaining_time": ObservationTermCfg(mdp.remaining_time),
                },
                noise=True,
            ),
            "achieved_goal": ObservationGroupCfg(terms={"cube": cube_pos}),
            "desired_goal": ObservationGroupCfg(terms={"goal": goal_pos}),
        },
        rewards={"goal": envs.RewardTermCfg(mdp.goal_reward, weight=1.0)},
        goal=envs.GoalCfg(reward=mdp.lift_and_place, params={"radius": RADIUS, "rest_height": HALF_SIZE}),
        terminations={
            "time_out": DoneTermCfg(mdp.time_out, time_out=True),
            "fallen": DoneTermCfg(mdp.object_below, params={**cube, "height": -0.1}),
        },
        events={"place": envs.EventTermCfg(mdp.place_object, params={**cube, "xy": AREA})},
        metrics={"distance": envs.MetricTermCfg(mdp.object_distance, params=away)},
        success=envs.SuccessTermCfg(mdp.object_at_command, params={**away, "radius": RADIUS}),
        scale_rewards_by_dt=False,
        camera="robot/front",
    )


def pick_and_place_sac() -> Sb3AgentCfg:
    """SAC with hindsight by stable-baselines3: 512-512-512, 2 million steps. It needs demonstrations to start from."""
    return Sb3AgentCfg(
        algorithm="SAC",
        max_iterations=2_000_000,
        hidden_dims=(512, 512, 512),
        activation="relu",
        obs_normalization=False,
        learning_rate=1e-3,
        gamma=0.95,
        her=True,
        her_goals=4,
        off_policy=OffPolicyCfg(
            buffer_size=1_000_000, batch_size=2048, learning_starts=4000, gradient_steps=8, tau=0.05, entropy_coef=0.1
        ),
        random_episode_start=False,
    )


PRESETS: dict[str, dict[str, Any]] = {
    "cpu": {
        "agent.max_iterations": 480_000,
        "agent.hidden_dims": (256, 256, 256),
        "agent.obs_normalization": True,
        "agent.decay_learning_rate": True,
        "agent.off_policy.batch_size": 256,
    }
}
