"""Sensors: what they measure, when they do, their noise, their state, and how terms read them."""

import math
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from genelab import mdp
from genelab.core.config import to_dict
from genelab.core.errors import UserError
from genelab.core.math import quat_mul
from genelab.core.overrides import apply
from genelab.core.registry import find
from genelab.core.stored_config import from_dict
from genelab.envs import (
    ManagerBasedRlEnv,
    ManagerBasedRlEnvCfg,
    ObservationGroupCfg,
    ObservationTermCfg,
    RewardTermCfg,
)
from genelab.scene.terrain import TerrainCfg
from genelab.sensors import ArraySensor, ContactSensorCfg, HeightScanCfg, RaySensorCfg, SensorCfg
from genelab.sensors.rays import ring
from genelab.tasks.velocity.go1 import flat, rough

PENDULUM = "GeneLab-Inverted-Pendulum-v0"


@dataclass(kw_only=True)
class OdometerCfg(SensorCfg):
    """Joint positions: the smallest sensor there is."""

    def build(self, name: str, host: Any) -> "Odometer":
        return Odometer(name, self, host)


class Odometer(ArraySensor):
    """See `OdometerCfg`. Counts its measurements."""

    measurements = 0

    @property
    def shape(self) -> tuple[int, ...]:
        return (2,)

    def measure(self) -> Tensor:
        self.measurements += 1
        return self.host.engine.qpos.clone()


def pendulum(num_envs: int = 3, read: bool = True, seed: int = 0, **sensor: Any) -> ManagerBasedRlEnv:
    """The inverted pendulum with an odometer, in the observations if it is to be read."""
    cfg = find(PENDULUM).env_cfg(play=True)
    cfg.num_envs, cfg.simulation.threads = num_envs, 1
    cfg.scene.sensors = {"odometer": OdometerCfg(**sensor)}
    if read:
        term = ObservationTermCfg(mdp.sensor_data, params={"sensor": "odometer"})
        cfg.observations["odometer"] = ObservationGroupCfg(terms={"odometer": term})
    return ManagerBasedRlEnv(cfg, seed)


def step(env: ManagerBasedRlEnv, steps: int = 1, action: float = 0.3) -> Tensor:
    """The odometer's observation after some steps."""
    for _ in range(steps):
        env.step(torch.full((env.num_envs, env.num_actions), action))
    return env.obs["odometer"] if "odometer" in env.obs else torch.empty(0)


def end_episode(env: ManagerBasedRlEnv, *worlds: int) -> None:
    env.episode_length_buf[list(worlds)] = env.max_episode_length - 1


def odometer(env: ManagerBasedRlEnv) -> Odometer:
    sensor = env.sensors["odometer"]
    assert isinstance(sensor, Odometer)
    return sensor


# When a sensor measures -----------------------------------------------------------------------------------------------


def test_a_sensor_measures_once_per_control_step_however_often_it_is_read():
    env = pendulum()
    before = odometer(env).measurements
    seen = step(env)
    assert torch.equal(seen, env.engine.qpos)
    assert torch.equal(odometer(env).data, seen)
    assert odometer(env).measurements == before + 1


def test_a_sensor_that_nobody_reads_costs_nothing():
    env = pendulum(read=False)
    step(env, 5)
    assert odometer(env).measurements == 0


def test_with_a_period_a_sensor_shows_its_last_measurement_until_the_next_is_due():
    env = pendulum(period=0.03)
    first = env.obs["odometer"].clone()
    assert torch.equal(step(env, 2), first)
    third = step(env).clone()
    assert torch.equal(third, env.engine.qpos)
    assert torch.equal(step(env, 2), third)


def test_a_world_that_is_reset_is_measured_at_once_and_the_others_when_due():
    env = pendulum(period=0.03)
    first = env.obs["odometer"].clone()
    end_episode(env, 1)
    seen = step(env)
    assert torch.equal(seen[1], env.engine.qpos[1])
    assert torch.equal(seen[[0, 2]], first[[0, 2]])


def test_a_reset_with_a_seed_repeats_the_measurements_whatever_was_before():
    env = pendulum(period=0.03, noise=0.1)
    runs = []
    for warm_up in (0, 1):
        step(env, warm_up)
        env.reset(seed=5)
        runs.append([env.obs["odometer"].clone(), *(step(env).clone() for _ in range(5))])
    assert all(torch.equal(a, b) for a, b in zip(*runs, strict=True))


def test_a_period_that_is_not_a_number_of_control_steps_is_an_error():
    with pytest.raises(UserError, match=r"sensor 'odometer': period 0\.025 s is not a multiple .* 0\.01 s"):
        pendulum(period=0.025)


# Noise and state ------------------------------------------------------------------------------------------------------


def test_noise_is_uniform_and_drawn_once_per_measurement():
    env = pendulum(num_envs=500, noise=0.1)
    noise = step(env) - env.engine.qpos
    assert 0.095 < float(noise.abs().max()) <= 0.1 + 1e-6
    assert torch.equal(odometer(env).data, env.obs["odometer"])


def test_noise_has_a_stream_of_its_own():
    noisy, clean = pendulum(noise=0.1), pendulum()
    step(noisy, 3)
    step(clean, 3)
    assert torch.equal(noisy.obs["policy"], clean.obs["policy"])


@pytest.mark.parametrize("sensor", [{}, {"noise": 0.1}, {"period": 0.03}, {"period": 0.02, "noise": 0.1}])
def test_a_restored_environment_measures_the_same(sensor: dict[str, float]):
    env, other = pendulum(**sensor), pendulum(seed=9, **sensor)
    step(env, 4)
    end_episode(env, 0)
    step(env)
    other.load_state_dict(env.state_dict())
    for _ in range(5):
        assert torch.equal(step(env), step(other))


def test_a_contact_sensor_with_noise_and_period_continues_exactly():
    def walker(seed: int) -> ManagerBasedRlEnv:
        cfg = tiny(flat(play=True))
        cfg.scene.sensors["feet"].period, cfg.scene.sensors["feet"].noise = 0.04, 2.0
        return ManagerBasedRlEnv(cfg, seed)

    env, other = walker(0), walker(1)
    actions = torch.randn(20, 2, 12, generator=torch.Generator().manual_seed(0))
    for action in actions[:11]:
        env.step(action)
    other.load_state_dict(env.state_dict())
    for action in actions[11:]:
        rewards = [e.step(action)[1] for e in (env, other)]
        assert torch.equal(*rewards)
        assert torch.equal(env.sensors["feet"].data.force, other.sensors["feet"].data.force)


# Contacts -------------------------------------------------------------------------------------------------------------


def tiny(cfg: ManagerBasedRlEnvCfg, num_envs: int = 2) -> ManagerBasedRlEnvCfg:
    cfg.num_envs, cfg.simulation.threads = num_envs, 1
    cfg.simulation.dt, cfg.decimation = 0.005, 4
    return cfg


def test_a_contact_sensor_has_its_sides_in_the_order_of_its_config():
    cfg = tiny(flat(play=True))
    feet = cfg.scene.sensors["feet"]
    assert isinstance(feet, ContactSensorCfg)
    reverse = ContactSensorCfg(sides=feet.sides[::-1], kind="geom", other="ground", other_kind="geom")
    cfg.scene.sensors["reverse"] = reverse
    env = ManagerBasedRlEnv(cfg)
    for _ in range(30):
        env.step(torch.zeros(2, 12))
    force = env.sensors["feet"].data.force
    assert force.shape == (2, 4, 3)
    assert bool((force[..., 2] > 5.0).all())
    assert torch.equal(env.sensors["reverse"].data.force, force.flip(1))


def test_timers_of_a_contact_sensor_with_a_period_count_the_time_since_a_reset():
    cfg = tiny(flat(play=True))
    cfg.scene.sensors["feet"].period = 0.06
    env = ManagerBasedRlEnv(cfg)
    env.robot.write_root(torch.arange(2), pos=env.robot.root_pos + torch.tensor([0.0, 0.0, 3.0]))
    for control_step in range(3):
        if control_step == 2:
            env.sensors.reset(torch.tensor([1]))
        env.step(torch.zeros(2, 12))
    torch.testing.assert_close(env.sensors["feet"].data.air_time[:, 0], torch.tensor([0.06, 0.02]))


def test_a_height_scan_with_a_period_keeps_its_measurement_on_flat_ground():
    cfg = tiny(flat(play=True))
    cfg.scene.sensors["scan"] = HeightScanCfg(period=0.06)
    env = ManagerBasedRlEnv(cfg)
    measured = env.sensors["scan"].data.clone()
    env.step(torch.zeros(2, 12))
    assert torch.equal(env.sensors["scan"].data, measured)


def test_sides_must_be_different():
    cfg = tiny(flat(play=True))
    cfg.scene.sensors["feet"] = ContactSensorCfg(sides=("robot/FR_foot", "robot/FR_foot"), kind="geom")
    with pytest.raises(UserError, match="different sides"):
        ManagerBasedRlEnv(cfg)


# Height scan ----------------------------------------------------------------------------------------------------------

BUMPY = {"rows": 4, "columns": ("rough", "boxes", "stairs_down"), "cell": 6.0, "border": 2.0, "flat_rows": 0}


def bumpy(num_envs: int = 4, **sensors: SensorCfg) -> ManagerBasedRlEnv:
    cfg = tiny(rough(play=True), num_envs)
    cfg.scene.terrain = TerrainCfg(spread=True, **BUMPY)
    cfg.scene.sensors.update(sensors)
    return ManagerBasedRlEnv(cfg, seed=3)


def test_the_scan_is_a_grid_of_17_by_11_points_from_right_back_to_left_front():
    env = bumpy(1)
    scan: Any = env.sensors["height_scan"]
    assert (scan.grid_shape, scan.shape, scan.data.shape) == ((11, 17), (187,), (1, 187))
    torch.testing.assert_close(scan.grid[:, 0], torch.tensor([-0.8, -0.5]))
    torch.testing.assert_close(scan.grid[:, 16], torch.tensor([0.8, -0.5]))
    torch.testing.assert_close(scan.grid[:, -1], torch.tensor([0.8, 0.5]))


def place(env: ManagerBasedRlEnv) -> tuple[Tensor, Tensor]:
    """Robots off the middle of their cells, tilted, with these headings; and their positions."""
    pos = env.spawn.origin + torch.tensor([1.3, -0.7, 0.4])
    angles = torch.tensor([0.3, 1.5, -2.0, 3.0])
    zeros, half = torch.zeros(4), angles / 2
    tilt = torch.tensor([math.cos(0.2), 0.0, math.sin(0.2), 0.0]).expand(4, 4)
    yaw = torch.stack((half.cos(), zeros, zeros, half.sin()), dim=1)
    env.robot.write_root(torch.arange(4), pos, quat_mul(yaw, tilt))
    env.sensors.update()
    return pos, angles


def test_the_scan_is_what_rays_straight_down_measure_and_turns_with_the_heading_only():
    env = bumpy()
    pos, angles = place(env)
    scan: Any = env.sensors["height_scan"]
    grid = scan.grid
    points = torch.stack(
        (
            pos[:, :1] + angles.cos()[:, None] * grid[0] - angles.sin()[:, None] * grid[1],
            pos[:, 1:2] + angles.sin()[:, None] * grid[0] + angles.cos()[:, None] * grid[1],
            torch.full((4, 187), 4.0),
        ),
        dim=-1,
    )
    seen = scan.data.clone()
    env.robot.write_root(torch.arange(4), pos + 50.0)  # out of the way of the rays
    ground = 4.0 - env.engine.ray(points, torch.tensor([0.0, 0.0, -1.0]).expand_as(points).contiguous())
    torch.testing.assert_close(seen, pos[:, 2:] - ground, atol=1e-3, rtol=0.0)


def test_on_flat_ground_the_scan_is_the_height_of_the_body():
    cfg = tiny(flat(play=True))
    cfg.scene.sensors |= {"trunk": HeightScanCfg(), "foot": HeightScanCfg(body="robot/FR_calf", length=0.2)}
    env = ManagerBasedRlEnv(cfg)
    torch.testing.assert_close(env.sensors["trunk"].data, torch.full((2, 187), 0.42))
    calf = env.robot.body_pos[:, env.robot.body_names.index("FR_calf"), 2:]
    torch.testing.assert_close(env.sensors["foot"].data, calf.expand(2, 33))


# Rays -----------------------------------------------------------------------------------------------------------------


def test_rays_that_point_down_measure_what_the_height_scan_knows():
    down = RaySensorCfg(directions=((0.0, 0.0, -1.0),), offset=(0.0, 0.0, 0.5), max_distance=5.0)
    env = bumpy(rays=down)
    pos = env.spawn.origin + torch.tensor([1.3, -0.7, 0.6])
    env.robot.write_root(torch.arange(4), pos, torch.tensor([1.0, 0.0, 0.0, 0.0]).expand(4, 4))
    env.sensors.update()
    height = env.height_above_ground(pos)
    torch.testing.assert_close(env.sensors["rays"].data[:, 0], height + 0.5, atol=1e-4, rtol=0.0)


def test_rays_turn_with_their_body_and_end_at_their_longest_distance():
    env = bumpy(rays=RaySensorCfg(directions=ring(4), max_distance=0.7))
    high = env.spawn.origin + torch.tensor([0.0, 0.0, 5.0])
    env.robot.write_root(torch.arange(4), high)
    env.sensors.update()
    assert env.sensors["rays"].data.tolist() == [pytest.approx([0.7] * 4)] * 4
    nose_down = torch.tensor([math.sqrt(0.5), 0.0, math.sqrt(0.5), 0.0]).expand(4, 4)
    env.robot.write_root(torch.arange(4), env.spawn.origin + torch.tensor([0.0, 0.0, 0.6]), nose_down)
    env.sensors.update()
    ahead, left, _, _ = env.sensors["rays"].data[0].tolist()
    assert ahead == pytest.approx(0.6, abs=1e-3)
    assert left == pytest.approx(0.7)


def test_casting_rays_does_not_change_the_motion():
    with_rays, without = bumpy(rays=RaySensorCfg()), bumpy()
    actions = torch.randn(20, 4, 12, generator=torch.Generator().manual_seed(0))
    for action in actions:
        with_rays.step(action)
        without.step(action)
        assert float(with_rays.sensors["rays"].data.min()) >= 0.0
    assert torch.equal(with_rays.engine.qpos, without.engine.qpos)


def test_an_engine_without_rays_refuses_a_ray_sensor():
    cfg = find(PENDULUM).env_cfg(play=True)
    cfg.num_envs, cfg.simulation.engine = 1, "genesis"
    cfg.scene.sensors = {"lidar": RaySensorCfg()}
    with pytest.raises(UserError, match="sensor 'lidar': engine 'genesis' cannot do 'rays'"):
        ManagerBasedRlEnv(cfg)


# Names ----------------------------------------------------------------------------------------------------------------


def test_a_term_that_names_an_unknown_sensor_is_an_error_with_the_nearest_name():
    cfg = tiny(flat(play=True))
    cfg.rewards["thigh_contact"] = RewardTermCfg(mdp.any_contact, weight=-1.0, params={"sensor": "thigs"})
    with pytest.raises(UserError, match=r"reward term 'thigh_contact': unknown sensor 'thigs' .*'thighs'"):
        ManagerBasedRlEnv(cfg)


def test_a_term_that_needs_contacts_refuses_another_sensor():
    cfg = tiny(rough(play=True))
    cfg.scene.terrain = TerrainCfg(spread=True, **BUMPY)
    cfg.rewards["thigh_contact"] = RewardTermCfg(mdp.any_contact, weight=-1.0, params={"sensor": "height_scan"})
    with pytest.raises(UserError, match="sensor 'height_scan' is a HeightScan, expected a ContactSensor"):
        ManagerBasedRlEnv(cfg)


@pytest.mark.parametrize(
    ("body", "message"),
    [("robto/trunk", "did you mean 'robot'"), ("robot/trnk", "unknown body of 'robot' 'trnk' .*'trunk'")],
)
def test_a_body_that_is_not_there_is_an_error_with_the_nearest_name(body: str, message: str):
    cfg = tiny(flat(play=True))
    cfg.scene.sensors["scan"] = HeightScanCfg(body=body)
    with pytest.raises(UserError, match=f"sensor 'scan': .*{message}"):
        ManagerBasedRlEnv(cfg)


def test_sensors_are_part_of_the_config_that_is_stored_and_overridden():
    cfg = rough()
    apply({"env": cfg}, [("env.scene.sensors.height_scan.spacing", "0.2"), ("env.scene.sensors.feet.period", "0.04")])
    stored = from_dict(Any, to_dict(cfg))
    assert stored.scene.sensors == cfg.scene.sensors
    assert stored.scene.sensors["height_scan"].spacing == 0.2
    assert stored.scene.sensors["feet"].period == 0.04


def test_sensors_print_themselves_as_a_table():
    env = pendulum(period=0.03, noise=0.1)
    [table] = env.sensors.tables()
    assert table.rows == [("odometer", (2,), 0.03, "±0.1", "Joint positions: the smallest sensor there is.", {})]
    assert str(env.sensors) in str(env)
