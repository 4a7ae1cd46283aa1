"""An exported policy does what the policy does, says what deployment needs, and runs without genelab."""

import ast
import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from genelab.cli.main import run
from genelab.core.errors import UserError
from genelab.experiment import export as export_module
from genelab.experiment.inference import setup_policy
from genelab.rl.backends.base import InferenceSetup
from genelab.rl.exporter import TOLERANCE, build, max_error, observation_layout, record

TASK = "GeneLab-Inverted-Pendulum-v0"
DEPLOY = Path(__file__).parents[1] / "examples/deploy"
SUFFIX = {"torchscript": ".ts", "onnx": ".onnx"}

CLIP = (-0.02, 0.02)
NO_SYMMETRY = {"agent__algorithm__symmetry": "none"}
"""Recurrent networks do not learn from mirror images."""
POLICIES: dict[str, dict[str, Any]] = {
    "mlp": {},
    "lstm": {"agent__actor__rnn_type": "lstm", **NO_SYMMETRY},
    "gru": {"agent__actor__rnn_type": "gru", "agent__actor__rnn_num_layers": 2, **NO_SYMMETRY},
    "history": {"env__observations__policy__history": 3, "agent__actor__rnn_type": "lstm", **NO_SYMMETRY},
    "clip": {"env__observations__policy__terms__joint_vel__clip": f"{CLIP[0]},{CLIP[1]}"},
    "plain": {"agent__actor__obs_normalization": "false", "agent__actor__distribution__state_dependent": "true"},
    "two groups": {"agent__obs_groups__actor": "critic,policy"},
    "tanh_normal": {"agent__actor__distribution": "tanh_normal"},
    "held": {"agent__action_repeat": 3},
    "symmetric": {"agent__algorithm__symmetry__exact": "true"},
}
RECURRENT = {"lstm", "gru", "history", "held"}
"""Policies with a state."""
ALL = [(kind, format) for kind in POLICIES for format in SUFFIX]


@dataclass(frozen=True)
class Export:
    """A trained policy and its export."""

    kind: str
    checkpoint: Path
    path: Path

    @property
    def metadata(self) -> dict[str, Any]:
        def no_constants(name: str) -> None:
            raise AssertionError(f"{name} is not JSON")

        return json.loads(Path(f"{self.path}.metadata.json").read_text(), parse_constant=no_constants)

    def onnx(self) -> onnxruntime.InferenceSession:
        return onnxruntime.InferenceSession(self.path.read_bytes(), providers=["CPUExecutionProvider"])

    def torchscript(self) -> torch.jit.ScriptModule:
        return torch.jit.load(str(self.path))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory, train_tiny: Callable[..., Any]) -> Callable[[str], Path]:
    """The checkpoint of a small policy of some kind, trained when it is first asked for."""
    made: dict[str, Path] = {}

    def get(kind: str) -> Path:
        if kind not in made:
            directory = tmp_path_factory.mktemp("trained") / "run"
            train_tiny(directory, agent__max_iterations=2, **POLICIES[kind])
            made[kind] = directory / "model_final.pt"
        return made[kind]

    return get


@pytest.fixture(scope="module")
def exported(
    tmp_path_factory: pytest.TempPathFactory, checkpoint: Callable[[str], Path]
) -> Callable[[str, str], Export]:
    """The export of a small policy of some kind in some format."""
    made: dict[tuple[str, str], Export] = {}

    def get(kind: str, format: str) -> Export:
        if (kind, format) not in made:
            path = tmp_path_factory.mktemp("exported") / f"policy{SUFFIX[format]}"
            assert run(["export", TASK, str(checkpoint(kind)), "--format", format, "--out", str(path)]) == 0
            made[kind, format] = Export(kind, checkpoint(kind), path)
        return made[kind, format]

    return get


@pytest.fixture
def inference(checkpoint: Callable[[str], Path]) -> Iterator[Callable[..., InferenceSetup]]:
    """Environment and policy of a checkpoint."""
    made: list[InferenceSetup] = []

    def get(kind: str, *overrides: tuple[str, str], num_envs: int = 4) -> InferenceSetup:
        _, setup, _ = setup_policy(TASK, checkpoint(kind), list(overrides), num_envs=num_envs, say=lambda line: None)
        made.append(setup)
        return setup

    yield get
    for setup in made:
        setup.env.close()


def outputs(export: Export, observations: np.ndarray) -> np.ndarray:
    """The actions for consecutive observations of one episode, straight from the runtime."""
    if export.path.suffix == ".ts":
        module = export.torchscript()
        module.reset()
        return np.stack([module(torch.from_numpy(obs[None]))[0].numpy() for obs in observations])
    session = export.onnx()
    state = {port.name: np.zeros((port.shape[0], 1, port.shape[2]), np.float32) for port in session.get_inputs()[1:]}
    actions = []
    for obs in observations:
        action, *after = session.run(None, {"obs": obs[None], **state})
        state = dict(zip(state, after, strict=True))
        actions.append(action[0])
    return np.stack(actions)


@pytest.mark.parametrize(("kind", "format"), ALL)
def test_an_export_agrees_with_its_policy_on_a_thousand_observations(
    kind: str, format: str, exported: Callable[..., Export]
) -> None:
    check = exported(kind, format).metadata["self_check"]
    assert check["observations"] >= 1000
    assert check["max_error"] <= check["tolerance"] == 1e-5


@pytest.mark.parametrize(("kind", "format"), ALL)
def test_the_golden_pairs_come_out_of_the_runtime(kind: str, format: str, exported: Callable[..., Export]) -> None:
    export = exported(kind, format)
    observations, actions = (
        np.array([pair[key] for pair in export.metadata["golden"]], np.float32) for key in ("obs", "actions")
    )
    assert observations.shape == (8, export.metadata["obs_dim"])
    assert len(np.unique(actions)) > (2 if kind == "held" else 4)  # the pairs of a policy with a state are consecutive
    np.testing.assert_allclose(outputs(export, observations), actions, atol=1e-5, rtol=0)


@pytest.mark.parametrize("format", SUFFIX)
def test_the_input_is_raw(
    format: str, exported: Callable[..., Export], inference: Callable[..., InferenceSetup]
) -> None:
    setup = inference("mlp")
    scale = torch.tensor([1.0, 1.0, 0.1, 0.1, 0.2, 0.2, 0.2, 1.0])
    obs = setup.env.obs
    raw = (obs["policy"] / scale).numpy()
    expected = setup.policy.act(obs).numpy()
    np.testing.assert_allclose(outputs(exported("mlp", format), raw), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("format", SUFFIX)
def test_values_beyond_the_clip_make_no_difference(format: str, exported: Callable[..., Export]) -> None:
    export = exported("clip", format)
    at_the_clip = np.zeros((2, 8), np.float32)
    at_the_clip[:, 2:4] = np.array(CLIP) / 0.1
    beyond, within = at_the_clip.copy(), at_the_clip.copy()
    beyond[:, 2:4] *= 50.0
    within[:, 2:4] *= 0.5
    np.testing.assert_allclose(outputs(export, beyond), outputs(export, at_the_clip), atol=1e-6)
    assert np.abs(outputs(export, within) - outputs(export, at_the_clip)).min() > 1e-5


def test_frames_lie_side_by_side_oldest_first(
    exported: Callable[..., Export], inference: Callable[..., InferenceSetup]
) -> None:
    export, setup = exported("history", "onnx"), inference("history", num_envs=1)
    recording = record(setup.env, setup.policy, steps=6)
    frames = recording.obs[:, 0].reshape(6, 3, 8)
    assert torch.equal(frames[0], frames[0, :1].expand(3, 8))  # filled with the first frame
    assert torch.equal(frames[1, :2], frames[0, 1:])
    assert torch.equal(frames[2, 0], frames[1, 1])
    group = export.metadata["obs_groups"]["policy"]
    assert (group["dim"], group["frame_dim"], group["history"]) == (24, 8, 3)
    assert [(t["start"], t["dim"], t["history"]) for t in group["terms"]] == [
        (0, 2, 3),
        (2, 2, 3),
        (4, 3, 3),
        (7, 1, 3),
    ]
    first = recording.obs[:3, 0].numpy()
    np.testing.assert_allclose(outputs(export, first), recording.actions[:3, 0].numpy(), atol=1e-5, rtol=0)


def test_the_input_has_the_groups_of_the_actor_in_its_order(exported: Callable[..., Export]) -> None:
    metadata = exported("two groups", "onnx").metadata
    assert [(name, g["start"], g["dim"]) for name, g in metadata["obs_groups"].items()] == [
        ("critic", 0, 8),
        ("policy", 8, 8),
    ]
    assert metadata["obs_dim"] == 16
    assert list(exported("mlp", "onnx").metadata["obs_groups"]) == ["policy"]


@pytest.mark.parametrize("kind", POLICIES)
def test_an_onnx_file_needs_no_other_file(kind: str, exported: Callable[..., Export]) -> None:
    export = exported(kind, "onnx")
    names = {path.name for path in export.path.parent.iterdir()}
    assert names == {"policy.onnx", "policy.onnx.metadata.json", "policy.onnx.scene.xml"}
    model = onnx.load_from_string(export.path.read_bytes())
    assert all(tensor.data_location == onnx.TensorProto.DEFAULT for tensor in model.graph.initializer)
    assert model.opset_import[0].version == export.metadata["opset"] == 17


@pytest.mark.parametrize(("kind", "layers", "ports"), [("lstm", 1, "hc"), ("gru", 2, "h")])
def test_the_states_of_an_onnx_file_are_ports(
    kind: str, layers: int, ports: str, exported: Callable[..., Export]
) -> None:
    session, block = exported(kind, "onnx").onnx(), exported(kind, "onnx").metadata["recurrent"]
    inputs = {port.name: port.shape for port in session.get_inputs()}
    assert inputs == {"obs": ["batch", 8], **{f"{p}_in": [layers, "batch", 64] for p in ports}}
    assert [port.name for port in session.get_outputs()] == ["actions", *(f"{p}_out" for p in ports)]
    assert block["onnx_inputs"] == list(inputs)
    assert (block["rnn_type"], block["rnn_num_layers"], block["rnn_hidden_dim"]) == (kind, layers, 64)
    assert block["state_shape"] == [layers, 1, 64]


@pytest.mark.parametrize("format", SUFFIX)
def test_an_exported_policy_holds_its_actions_by_itself(format: str, exported: Callable[..., Export]) -> None:
    export = exported("held", format)
    obs = np.random.default_rng(0).normal(size=(9, 8)).astype(np.float32)
    actions = outputs(export, obs)[:, 0]
    np.testing.assert_allclose(actions, actions[[0, 0, 0, 3, 3, 3, 6, 6, 6]])
    assert len(set(actions.tolist())) == 3
    assert export.metadata["action_repeat"] == 3
    assert export.metadata["recurrent"]["state_shape"] == [1, 1, 2]


def test_an_exported_tanh_normal_policy_keeps_its_bounds(exported: Callable[..., Export]) -> None:
    far = np.full((1, 8), 1e6, np.float32)
    assert np.abs(outputs(exported("tanh_normal", "onnx"), far)).max() <= 1.0


@pytest.mark.parametrize("kind", ["mlp", "lstm", "gru", "held"])
def test_an_onnx_file_takes_any_batch(kind: str, exported: Callable[..., Export]) -> None:
    export = exported(kind, "onnx")
    session = export.onnx()
    obs = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32)
    state = {port.name: np.zeros((port.shape[0], 5, port.shape[2]), np.float32) for port in session.get_inputs()[1:]}
    together = session.run(None, {"obs": obs, **state})[0]
    alone = np.concatenate([outputs(export, row[None]) for row in obs])
    np.testing.assert_allclose(together, alone, atol=1e-6)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_torchscript_remembers_until_it_is_reset(kind: str, exported: Callable[..., Export]) -> None:
    module = exported(kind, "torchscript").torchscript()
    obs = torch.full((1, 8), 0.5)
    first, second = module(obs), module(obs)
    module.reset()
    assert torch.equal(module(obs), first)
    assert not torch.equal(second, first)
    assert not first.requires_grad
    with pytest.raises(torch.jit.Error, match="hidden"):
        module(torch.zeros(2, 8))


def test_torchscript_without_a_state_can_be_reset_too_and_takes_any_batch(exported: Callable[..., Export]) -> None:
    module = exported("mlp", "torchscript").torchscript()
    module.reset()
    assert module(torch.zeros(5, 8)).shape == (5, 1)


@pytest.mark.parametrize(("kind", "format"), ALL)
def test_the_metadata_says_what_the_file_is(kind: str, format: str, exported: Callable[..., Export]) -> None:
    export = exported(kind, format)
    metadata = export.metadata
    assert metadata["sha256"] == hashlib.sha256(export.path.read_bytes()).hexdigest()
    assert (metadata["task"], metadata["checkpoint"]) == (TASK, str(export.checkpoint))
    assert (metadata["format"], metadata["file"]) == (format, export.path.name)
    assert metadata["is_recurrent"] == (kind in RECURRENT) == (metadata["recurrent"] is not None)
    assert metadata["normalization_baked"] == (kind != "plain")
    assert metadata["versions"]["torch"] == metadata["torch_version"] == torch.__version__
    assert {"exported_at", "opset"} <= set(metadata)


def test_the_metadata_says_what_deployment_needs(exported: Callable[..., Export]) -> None:
    metadata = exported("mlp", "onnx").metadata
    robot = metadata["robot"]
    assert robot["joint_names"] == ["slide", "hinge"]
    assert robot["default_joint_pos"] == [0.0, 0.0]
    assert (robot["actuators"], robot["kp"], robot["kd"]) == (["slide", None], [80.0, None], [8.0, None])
    assert robot["effort_limits"] == [None, None]
    assert robot["joint_limits"] == [[-3.0, 3.0], [-1.2, 1.2]]
    assert (metadata["control_dt"], metadata["physics_dt"], metadata["decimation"]) == (0.01, 0.005, 2)
    assert metadata["quaternion_order"] == "wxyz"
    assert (metadata["action_dim"], metadata["action_range"]) == (1, [-100.0, 100.0])
    (action,) = metadata["actions"]
    assert (action["kind"], action["joints"], action["scale"]) == ("JointPositionAction", ["slide"], 1.0)
    assert (action["offset"], action["clip"]) == ([0.0], [-100.0, 100.0])
    terms = metadata["obs_groups"]["policy"]["terms"]
    assert [(t["name"], t["dim"], t["start"], t["scale"], t["clip"]) for t in terms] == [
        ("joint_pos", 2, 0, 1.0, None),
        ("joint_vel", 2, 2, 0.1, None),
        ("pole_ang_vel", 3, 4, 0.2, None),
        ("last_action", 1, 7, 1.0, None),
    ]
    assert terms[2]["function"] == "genelab.mdp.observations:body_ang_vel"
    assert terms[2]["params"] == {"body": "pole", "entity": None}
    assert [t["noise"] for t in terms] == [0.005, 0.05, 0.1, 0.0]
    assert exported("clip", "onnx").metadata["obs_groups"]["policy"]["terms"][1]["clip"] == list(CLIP)


def test_the_scene_is_the_one_of_training(
    exported: Callable[..., Export], inference: Callable[..., InferenceSetup]
) -> None:
    import mujoco  # not before genelab, which prepares it for machines without a display

    export = exported("mlp", "onnx")
    saved = mujoco.MjModel.from_xml_path(str(export.path.parent / export.metadata["scene"]["file"]))
    model = inference("mlp").env.scene.drawn
    assert saved.names == model.names
    for name in ("body_mass", "body_inertia", "body_ipos", "jnt_range", "dof_damping", "actuator_biasprm", "body_pos"):
        np.testing.assert_allclose(getattr(saved, name), getattr(model, name), rtol=1e-5, err_msg=name)
    assert saved.opt.timestep == model.opt.timestep


def test_an_export_is_the_same_every_time(exported: Callable[..., Export], tmp_path: Path) -> None:
    export = exported("lstm", "onnx")
    again = tmp_path / "again.onnx"
    assert run(["export", TASK, str(export.checkpoint), "--format", "onnx", "--out", str(again)]) == 0
    assert again.read_bytes() == export.path.read_bytes()


def test_the_file_has_a_default_name_and_the_command_says_what_it_wrote(
    cli: Callable[..., Any], checkpoint: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for format, suffix in SUFFIX.items():
        outcome = cli("export", TASK, checkpoint("mlp"), "--format", format)
        assert outcome.code == 0, outcome.err
        assert f"written to policy{suffix}, policy{suffix}.metadata.json" in outcome.out
        assert "over 1280 observations" in outcome.out
        assert (tmp_path / f"policy{suffix}").is_file()


@pytest.mark.parametrize("opset", [9, 20])
def test_the_opset_is_the_one_asked_for(opset: int, checkpoint: Callable[[str], Path], tmp_path: Path) -> None:
    path = tmp_path / "policy.onnx"
    assert run(["export", TASK, str(checkpoint("lstm")), "--format=onnx", f"--opset={opset}", "--out", str(path)]) == 0
    assert onnx.load(path).opset_import[0].version == opset


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--format", "tflite"], ["tflite", "torchscript", "onnx"]),
        (["--format", "onnx", "--opset", "99"], ["opset 99", "9 to 20"]),
        (["--format", "onnx", "--opset", "many"], ["--opset"]),
        (["--opset", "17"], ["--opset goes with --format onnx"]),
        (["--out", "policy.onnx"], ["policy.onnx", "--format onnx"]),
        (["--format", "onnx", "--out", "policy.ts"], ["policy.ts", "--format torchscript"]),
        (["--out", "{checkpoint}"], ["is the checkpoint itself"]),
        (["--out", "folder"], ["folder"]),
        (["--out", "file/policy.ts"], ["file/policy.ts"]),
        (["--env.observations.policy.history", "2"], ["does not fit"]),
        (["--env.num_envs", "4"], ["env.num_envs would have no effect"]),
        (["--agent.actor.activation", "relu"], ["agent.actor.activation would have no effect"]),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else words,
)
def test_a_mistake_is_one_line(
    flags: list[str],
    said: list[str],
    mistake: Callable[..., str],
    checkpoint: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    error = mistake("export", TASK, checkpoint("mlp"), *(flag.format(checkpoint=checkpoint("mlp")) for flag in flags))
    assert all(words in error for words in said), error
    assert {path.name for path in tmp_path.rglob("*")} == {"folder", "file"}


def test_a_policy_of_another_width_is_an_error_that_says_both(inference: Callable[..., InferenceSetup]) -> None:
    deployed = inference("mlp").policy.deployed
    wide = observation_layout(inference("history").env, ("policy",))
    with pytest.raises(UserError, match=r"reads 8 observations, the environment has 24 \(policy 24\)"):
        build(deployed, wide)


def test_an_export_that_differs_from_its_policy_is_not_written(
    mistake: Callable[..., str],
    checkpoint: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(export_module, "TOLERANCE", -1.0)
    error = mistake("export", TASK, checkpoint("mlp"), "--out", tmp_path / "policy.ts", code=1)
    assert "differs" in error
    assert list(tmp_path.iterdir()) == []


def test_the_golden_pairs_of_a_recurrent_policy_are_of_one_episode(
    checkpoint: Callable[[str], Path], tmp_path: Path
) -> None:
    path = tmp_path / "policy.onnx"
    command = ["export", TASK, str(checkpoint("lstm")), "--format=onnx", "--out", str(path)]
    assert run([*command, "--env.episode_length_s", "0.05"]) == 0
    assert len(json.loads(Path(f"{path}.metadata.json").read_text())["golden"]) == 5


def test_the_check_notices_a_state_that_is_not_reset_and_wrong_numbers(
    exported: Callable[..., Export], inference: Callable[..., InferenceSetup]
) -> None:
    setup = inference("lstm", num_envs=1)
    recording = record(setup.env, setup.policy, steps=40)
    module = exported("lstm", "torchscript").torchscript()
    assert int(recording.starts.sum()) >= 2
    assert max_error(lambda obs, images, starts: module(obs), recording) > TOLERANCE
    assert np.isnan(max_error(lambda obs, images, starts: torch.full((1, 1), torch.nan), recording))


def test_recording_leaves_the_environment_as_it_was(inference: Callable[..., InferenceSetup]) -> None:
    setup = inference("clip")
    before = setup.env.reset(seed=5)["policy"].clone()
    record(setup.env, setup.policy, steps=4)
    assert torch.equal(setup.env.reset(seed=5)["policy"], before)


IN_PLAIN_MUJOCO = """
import json, sys
from pathlib import Path
import numpy as np
sys.path.insert(0, sys.argv[1])
import mujoco_onnx as deploy
world, policy, observer = deploy.load(Path(sys.argv[2]), np.random.default_rng(0))
episodes = []
for position, velocity in json.loads(sys.argv[3]):
    world.set_state(np.array(position), np.array(velocity))
    episodes.append(deploy.run_episode(world, policy, observer))
print(json.dumps([episodes, sorted(sys.modules)]))
"""


@pytest.mark.parametrize("kind", ["mlp", "gru", "history"])
def test_plain_mujoco_gives_the_same_episodes_from_the_same_states(
    kind: str, exported: Callable[..., Export], inference: Callable[..., InferenceSetup], tmp_path: Path
) -> None:
    setup = inference(kind, ("env.observations.policy.noise", "false"))
    env, policy = setup.env, setup.policy
    obs = env.reset(seed=3)
    policy.reset()
    starts = [(env.engine.qpos[i].tolist(), env.engine.qvel[i].tolist()) for i in range(env.num_envs)]
    expected: dict[int, tuple[float, int]] = {}
    while len(expected) < env.num_envs:
        obs, _, _, _, extras = env.step(policy.act(obs))
        if (finished := extras["finished"]) is not None:
            policy.reset(finished.env_ids)
            rows = zip(finished.env_ids.tolist(), finished.returns.tolist(), finished.lengths.tolist(), strict=True)
            for world, total, length in rows:
                expected.setdefault(world, (total, length))
    path = exported(kind, "onnx").path
    command = [sys.executable, "-c", IN_PLAIN_MUJOCO, str(DEPLOY), str(path), json.dumps(starts)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    episodes, modules = json.loads(done.stdout)
    assert not {"genelab", "torch"} & {name.partition(".")[0] for name in modules}
    assert [length for _, length in episodes] == [expected[i][1] for i in range(env.num_envs)]
    np.testing.assert_allclose(
        [total for total, _ in episodes], [expected[i][0] for i in range(env.num_envs)], atol=1e-3
    )


def test_the_deployment_example_imports_numpy_onnxruntime_and_mujoco_only() -> None:
    trees = [ast.parse(path.read_text()) for path in DEPLOY.glob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {
        n for node in nodes for n in ([a.name for a in node.names] if isinstance(node, ast.Import) else [node.module])
    }
    outside = {name.partition(".")[0] for name in names if name} - sys.stdlib_module_names
    assert outside - {"terms", "world"} == {"numpy", "onnxruntime", "mujoco"}


def test_the_deployment_example_runs_as_printed(exported: Callable[..., Export], tmp_path: Path) -> None:
    command = [sys.executable, DEPLOY / "mujoco_onnx.py", exported("mlp", "onnx").path, "--episodes", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("return_mean ")


@pytest.mark.parametrize("kind", ["mlp", "lstm", "gru"])
def test_the_golden_pairs_come_out_of_node(kind: str, exported: Callable[..., Export], tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    if not (DEPLOY / "node/node_modules/.package-lock.json").is_file():
        pytest.skip("onnxruntime-node is not installed (npm install --ignore-scripts in examples/deploy/node)")
    path = tmp_path / "policy.onnx"
    for suffix in ("", ".metadata.json"):
        shutil.copy(f"{exported(kind, 'onnx').path}{suffix}", f"{path}{suffix}")
    command = [node, DEPLOY / "node/check.mjs", path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 golden pairs" in done.stdout
    metadata = Path(f"{path}.metadata.json")
    wrong = json.loads(metadata.read_text())
    wrong["golden"][-1]["actions"][0] += 1e-3
    metadata.write_text(json.dumps(wrong))
    assert subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 1
