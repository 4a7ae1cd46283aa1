"""The web viewer without a browser: what its controls do, what it draws, whom it lets in, and following a run."""

import json
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
import torch

pytest.importorskip("viser", reason="the web viewer is not installed")

from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from genelab.core.errors import UserError
from genelab.core.registry import find, tasks
from genelab.envs import ManagerBasedEnv, ManagerBasedEnvCfg, ManagerBasedRlEnv
from genelab.experiment.inference import setup_policy
from genelab.experiment.play import PlayRequest, ZeroPolicy, run_playback, show
from genelab.experiment.watch import Follower
from genelab.rl.evaluator import RandomPolicy
from genelab.scene.scene import Scene
from genelab.viewer.server import PageServer, admits, announced
from genelab.viewer.session import Session
from genelab.viewer.stage import _solid, parts, tiles
from genelab.viewer.web import WebViewer
from task_sample import SAMPLE

TASK = "GeneLab-Inverted-Pendulum-v0"
GO1 = "Genelab-Velocity-Flat-Unitree-Go1-v0"
ROUGH = "Genelab-Velocity-Rough-Unitree-Go1-v0"


@pytest.fixture(scope="module")
def go1() -> Iterator[ManagerBasedRlEnv]:
    """Two worlds of the Go1."""
    cfg = find(GO1).env_cfg(play=True)
    cfg.num_envs = 2
    env = ManagerBasedRlEnv(cfg)
    yield env
    env.close()


@pytest.fixture
def session(go1: ManagerBasedRlEnv) -> Session:
    for term in go1.command_manager.terms.values():
        term.hold(torch.full_like(term.command, torch.nan))
    go1.reset(seed=0)
    return Session(go1, {"zero": lambda: ZeroPolicy(go1), "random": lambda: RandomPolicy(go1, 0)}, "zero")


def test_a_paused_session_waits_and_takes_single_steps(session: Session) -> None:
    assert not session.waiting
    session.paused = True
    assert session.waiting
    session.single_step()
    assert not session.waiting
    session.advance()
    assert session.waiting
    assert session.steps == 1


def test_what_another_thread_asks_is_done_between_steps_and_mistakes_become_the_message(session: Session) -> None:
    def fail() -> None:
        raise UserError("no such thing")

    thread = threading.Thread(target=lambda: [session.ask(lambda: session.look_at(1)), session.ask(fail)])
    thread.start()
    thread.join()
    assert session.world == 0
    session.settle()
    assert (session.world, session.message) == (1, "no such thing")


def test_a_command_by_hand_stays_in_its_world_until_it_is_let_go(session: Session, go1: ManagerBasedRlEnv) -> None:
    session.look_at(1)
    session.command("velocity", [0.5, -0.25, 0.125])
    for _ in range(3):
        session.advance()
        session.reset()
        assert go1.command_manager["velocity"][1].tolist() == [0.5, -0.25, 0.125]
        assert go1.command_manager["velocity"][0].tolist() != [0.5, -0.25, 0.125]
    assert session.by_hand("velocity")
    session.command("velocity", None)
    session.reset()
    assert not session.by_hand("velocity")
    assert go1.command_manager["velocity"][1].tolist() != [0.5, -0.25, 0.125]


def test_sliders_have_the_ranges_of_the_commands(session: Session) -> None:
    assert [slider[1:] for slider in session.commands["velocity"].sliders()] == [(-1.0, 1.0)] * 3
    franka = find("GeneLab-Franka-Pick-And-Place-v0").env_cfg(play=True)
    franka.num_envs = 1
    env = ManagerBasedRlEnv(franka)
    (goal,) = Session(env, {"zero": lambda: ZeroPolicy(env)}, "zero").commands.values()
    assert [name for name, _, _ in goal.sliders()] == ["x", "y", "z"]
    goal.hold(torch.tensor([[0.4, 0.1, 0.3]]))
    (marker,) = env.engine.markers.values()
    torch.testing.assert_close(marker, torch.tensor([[0.4, 0.1, 0.3]]))
    env.close()


def test_a_push_moves_the_robot_of_the_world_and_no_other(session: Session, go1: ManagerBasedRlEnv) -> None:
    session.look_at(1)
    before = go1.engine.qvel.clone()
    session.push()
    assert bool((go1.engine.qvel[1, :2] != before[1, :2]).any())
    assert go1.engine.qvel[0].tolist() == before[0].tolist()


def test_a_push_moves_the_joints_of_a_robot_with_a_fixed_base() -> None:
    env = ManagerBasedRlEnv(find(TASK).env_cfg(play=True))
    session = Session(env, {"zero": lambda: ZeroPolicy(env)}, "zero")
    before = env.engine.qvel.clone()
    session.push()
    assert (env.engine.qvel != before).any(dim=1).tolist() == [True] + [False] * (env.num_envs - 1)
    env.close()


def test_agents_can_be_exchanged_in_running_worlds(session: Session, go1: ManagerBasedRlEnv) -> None:
    session.advance()
    assert float(go1.action_manager.action.abs().max()) == 0.0
    session.use("random")
    session.advance()
    assert float(go1.action_manager.action.abs().max()) > 0.1
    assert session.agent == "random"


def test_plots_have_a_line_for_every_reward_term_and_action(session: Session, go1: ManagerBasedRlEnv) -> None:
    lengths = []
    for _ in range(3):
        plots = session.plots()
        assert list(plots["Reward terms"]) == ["s", *go1.cfg.rewards]
        assert len(plots["Actions"]) == 1 + go1.num_actions
        lengths.append({len(line) for lines in plots.values() for line in lines.values()})
        session.advance()
        session.advance()
    assert lengths == [{1}, {2}, {4}]
    last = sum(float(line[-1]) for name, line in session.plots()["Reward terms"].items() if name != "s")
    assert last == pytest.approx(float(go1.reward_manager.values[:, 0].sum()), abs=1e-6)


@pytest.mark.parametrize("task", list(tasks()))
def test_meshes_cover_the_shapes_that_mujoco_draws(task: str) -> None:
    model = Scene(find(task).env_cfg(play=True).scene, 0.005).drawn
    data: Any = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    planes = (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD)
    drawn = [i for i in range(model.ngeom) if model.geom_group[i] < 3 and model.geom_rgba[i, 3] > 0]
    all_parts = parts(model, set())
    for body in range(model.nbody):
        geoms = [i for i in drawn if model.geom_bodyid[i] == body and int(model.geom_type[i]) not in planes]
        meshes = [part.mesh for part in all_parts if part.body == body]
        assert bool(meshes) == bool(geoms)
        if geoms:
            turn = data.xmat[body].reshape(3, 3)
            points = np.concatenate([vertices for vertices, _ in meshes]) @ turn.T + data.xpos[body]
            away = np.linalg.norm(points[:, None] - data.geom_xpos[geoms], axis=2)
            assert (away <= model.geom_rbound[geoms] + 1e-3).any(axis=1).all()  # inside some geom's ball
            assert (away.min(axis=0) <= model.geom_rbound[geoms] + 1e-3).all()  # and something of every geom
        assert all(faces.max() < len(vertices) for vertices, faces in meshes)


def test_solids_have_the_extent_and_nearly_the_volume_of_the_shapes() -> None:
    x, y, z = 0.3, 0.2, 0.5
    ball = 4 / 3 * np.pi * x**3
    volumes = {"BOX": 8 * x * y * z, "CYLINDER": 2 * np.pi * x**2 * y, "CAPSULE": 2 * np.pi * x**2 * y + ball}
    volumes |= {"SPHERE": ball, "ELLIPSOID": 4 / 3 * np.pi * x * y * z}
    extents = {"CYLINDER": (x, x, y), "CAPSULE": (x, x, x + y), "SPHERE": (x, x, x)}
    for name, volume in volumes.items():
        vertices, faces = _solid(getattr(mujoco.mjtGeom, f"mjGEOM_{name}"), np.array((x, y, z)))
        a, b, c = vertices[faces].transpose(1, 0, 2)
        assert abs((a * np.cross(b, c)).sum()) / 6 == pytest.approx(volume, rel=0.03)
        np.testing.assert_allclose(vertices.max(axis=0), extents.get(name, (x, y, z)), atol=1e-9)


def test_the_squares_of_a_terrain_have_its_heights() -> None:
    cfg = find(ROUGH).env_cfg(play=True).scene
    cfg.terrain.columns, cfg.terrain.rows, cfg.terrain.border = ("stairs_up", "rough"), 3, 4.0
    scene = Scene(cfg, 0.005)
    vertices = np.concatenate([mesh[0] for _, mesh in tiles(scene.drawn)])
    heights = scene.terrain.height(torch.tensor(vertices, dtype=torch.float32))  # type: ignore[union-attr]
    np.testing.assert_allclose(vertices[:, 2], heights.numpy(), atol=1e-3)
    np.testing.assert_allclose(np.ptp(vertices[:, :2], axis=0), cfg.terrain.extent, atol=1e-6)


@given(st.text(alphabet="abc/?%._-", max_size=30), st.text(max_size=20), st.one_of(st.none(), st.text(max_size=20)))
@settings(max_examples=50, deadline=None)
def test_nothing_but_the_token_admits(path: str, host: str, origin: str | None) -> None:
    assert not admits("s3cret", f"/{path}", host, origin)
    assert admits("s3cret", f"/s3cret/?{path}", host, origin)


@pytest.mark.parametrize(
    ("host", "origin", "admitted"),
    [
        ("localhost:8080", "http://localhost:8080", True),
        ("127.0.0.1:9000", None, True),
        ("[::1]:8080", "http://[::1]:8080", True),
        ("localhost:8080", "http://evil.example", False),
        ("localhost:8080", "http://localhost:3000", False),
        ("localhost:8080", "null", False),
        ("evil.example:8080", "http://evil.example:8080", False),
        ("", None, False),
    ],
)
def test_without_a_token_only_this_machine_and_its_own_page_are_admitted(
    host: str, origin: str | None, admitted: bool
) -> None:
    assert admits(None, "/", host, origin) == admitted


def status(url: str, **headers: str) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_a_page_for_other_machines_opens_only_with_its_token() -> None:
    server = PageServer("title", "0.0.0.0", 0)
    (line,) = server.invitation()
    assert line.endswith(f":{server.port}/{server.token}/")
    base = f"127.0.0.1:{server.port}"
    assert status(f"http://{base}/{server.token}/") == 200
    assert [status(f"http://{base}/{path}") for path in ("", "index.html", f"?token={server.token}")] == [403] * 3
    for path in ("", "/x"):
        with pytest.raises(InvalidStatus, match="403"):
            connect(f"ws://{base}{path}")
    with connect(f"ws://{base}/{server.token}"):
        pass
    server.close()


def test_a_local_page_has_no_token_and_is_not_open_to_other_pages() -> None:
    server = PageServer("title")
    page, tunnel = server.invitation()
    assert page == f"viewer: http://localhost:{server.port}"
    assert f"ssh -N -L {server.port}:localhost:{server.port} " in tunnel
    assert status(f"http://localhost:{server.port}") == 200
    assert status(f"http://127.0.0.1:{server.port}", Host="evil.example") == 403
    with pytest.raises(InvalidStatus, match="403"):
        connect(f"ws://localhost:{server.port}", origin="http://evil.example")  # type: ignore[arg-type]
    server.close()


def test_no_visitor_can_publish_the_page() -> None:
    from viser import _messages

    server = PageServer("title", port=0)
    assert _messages.ShareUrlRequest not in server.viser._websock_server._incoming_handlers
    server.close()


def test_a_port_that_is_taken_or_does_not_exist_is_one_line(mistake: Callable[..., str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"--port {port}" in mistake("play", TASK, "--viewer", "web", "--port", port)
    assert "--port 70000" in mistake("play", TASK, "--viewer", "web", "--port", 70000)
    assert "--host 203.0.113.1" in mistake("play", TASK, "--viewer", "web", "--host", "203.0.113.1")


def test_where_the_page_is_served_goes_with_the_page(mistake: Callable[..., str]) -> None:
    assert "--viewer web" in mistake("play", TASK, "--port", 8080)
    assert "--headless" in mistake("play", TASK, "--viewer", "web", "--headless")


@pytest.mark.parametrize("task", SAMPLE)
def test_every_task_is_shown(task: str) -> None:
    cfg = find(task).env_cfg(play=True)
    cfg.num_envs = 3
    env = ManagerBasedRlEnv(cfg)
    session = Session(env, {"zero": lambda: ZeroPolicy(env)}, "zero")
    session.speed = np.inf
    viewer = WebViewer(session, PageServer(task, port=0))
    before = viewer.updates
    for _ in range(3):
        session.advance()
        time.sleep(0.1)  # pages are not told more often than they can draw
        viewer.sync()
    assert viewer.updates > before
    viewer.stage.show()  # the last state may have come too soon after the one before
    root = viewer._viser.scene.get_handle_by_name("/worlds")
    middle = env.engine.body_pos[0, 1, :2].tolist()
    assert root.position[:2].tolist() == pytest.approx([-value for value in middle], abs=1e-5)
    viewer.close()
    env.close()


def test_a_scene_that_plays_itself_is_shown_and_starts_again() -> None:
    played = find(TASK).env_cfg(play=True)
    cfg = ManagerBasedEnvCfg(scene=played.scene, num_envs=2, decimation=2)
    cfg.simulation.vis = True
    session = Session(ManagerBasedEnv(cfg))
    session.ask(session.reset)
    session.ask(session.push)
    assert show(session, PlayRequest(TASK, page=PageServer(TASK, port=0), max_steps=4), lambda line: None) == 4
    assert session.env.step_count == 4
    assert "cannot be pushed" in session.message


def test_play_prints_where_the_page_is_and_keeps_to_the_hard_cap(cli: Callable[..., Any]) -> None:
    outcome = cli("play", TASK, "--viewer", "web", "--port", 0, "--max-steps", 5, "--steps", 2)
    assert outcome.code == 0, outcome.err
    assert "viewer: http://localhost:" in outcome.out
    assert "ssh -N -L" in outcome.out
    assert "played 5 steps" in outcome.out
    assert "viser" not in outcome.out + outcome.err


def test_the_page_is_served_before_the_slow_imports() -> None:
    code = (
        "import sys, genelab.cli.play, genelab.viewer.server; genelab.viewer.server.PageServer('title', port=0).close()"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", f"{code}; print('torch' in sys.modules)"], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.split() == ["False"]


def test_no_page_is_announced_for_an_unknown_task(cli: Callable[..., Any]) -> None:
    outcome = cli("play", "GeneLab-Inverted-Pendulum-v9", "--viewer", "web")
    assert outcome.code == 2
    assert "viewer:" not in outcome.out


def test_a_page_can_load_checkpoints_that_fit_its_worlds(trained_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Session] = []

    def look(session: Session, *_: Any) -> int:
        seen.append(session)
        return 0

    monkeypatch.setattr("genelab.experiment.play.show", look)
    for task in (TASK, GO1):
        with announced(task, "127.0.0.1", 0, say=lambda line: None) as page:
            run_playback(PlayRequest(task, page=page), say=lambda line: None)
    (pendulum, go1) = seen
    assert list(pendulum.agents) == ["zero", "random", "trained"]
    assert pendulum.agent == "zero"
    pendulum.use_file(str(trained_run))
    pendulum.advance()
    assert pendulum.agent == str(trained_run)
    go1.use("trained")
    go1.advance()
    go1.rl.cfg.decimation = 10  # type: ignore[union-attr]
    with pytest.raises(UserError, match=r"env\.decimation 4, not 10"):
        go1.use_file("bundled")
    with pytest.raises(UserError, match="checkpoint"):
        go1.use_file("nowhere.pt")


def test_a_page_says_why_it_has_no_trained_agent(
    cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # no runs here
    outcome = cli("play", "GeneLab-Inverted-Pendulum-Memory-v0", "--viewer", "web", "--port", 0, "--max-steps", 2)
    assert outcome.code == 0, outcome.err
    assert "no trained agent: there is no trained policy of 'GeneLab-Inverted-Pendulum-Memory-v0'" in outcome.out


def test_prof_says_where_the_time_of_a_playback_went(cli: Callable[..., Any]) -> None:
    outcome = cli("play", TASK, "--steps", 5, "--prof")
    assert "ms per step" in outcome.out
    assert "env.step" in outcome.out


def test_watch_plays_each_new_checkpoint_and_shows_the_curves(trained_run: Path, tmp_path: Path) -> None:
    directory = tmp_path / "run"
    shutil.copytree(trained_run, directory)
    checkpoint = directory / "model_final.pt"
    held = checkpoint.rename(tmp_path / "held.pt")
    for path in directory.glob("model_*"):
        path.unlink()
    setup, inference, _ = setup_policy(TASK, held, [], num_envs=2, say=lambda line: None)
    session = Session(inference.env, {"zero": lambda: ZeroPolicy(inference.env)}, "zero")
    follower = Follower(directory, session, inference.env, setup.spec.id)
    curves = follower()
    assert (session.agent, session.message) == ("zero", "waiting for the first checkpoint")
    assert curves["Return"]["iteration"].tolist() == [1, 2, 3]
    held.rename(checkpoint)
    with (directory / "metrics.jsonl").open("a") as file:
        file.write(json.dumps({"iteration": 4, "return_mean": 12.5, "length_mean": 30.0}) + "\n")
    assert len(follower()["Return"]["iteration"]) == 3  # it does not look all the time
    follower._looked_at = -np.inf
    assert follower()["Return"]["Return"].tolist()[-1] == 12.5
    assert session.agent == "model_final.pt"
    session.advance()
    checkpoint.write_bytes(b"broken")
    follower._looked_at = -np.inf
    follower()
    assert "model_final.pt" in session.message
    inference.env.close()


def test_watch_serves_a_page_about_a_run(
    trained_run: Path, tmp_path: Path, genelab: Callable[..., Any], mistake: Callable[..., str]
) -> None:
    done = genelab("watch", trained_run, "--port", 0, "--max-steps", 5, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "viewer: http://localhost:" in done.stdout
    assert "in 4 worlds" in done.stdout
    assert "run.json" in mistake("watch", tmp_path)
