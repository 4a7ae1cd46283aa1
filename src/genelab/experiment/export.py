"""Export of a checkpoint: the policy file, what deployment must know, and the scene it was trained in.

The file is checked before it appears: loaded in its own runtime and compared with the policy on a real rollout.
"""

from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from genelab.core.errors import RunStopped, UserError
from genelab.core.files import file_sha256, write_atomic, write_json, write_text, writing
from genelab.experiment import provenance
from genelab.experiment.inference import setup_policy
from genelab.experiment.setup import Say
from genelab.rl import exporter
from genelab.rl.deployed import Deployed
from genelab.rl.deployment import describe, describe_scene
from genelab.rl.exporter import TOLERANCE, Recording, load_onnx, load_torchscript, max_error, record

CHECK_WORLDS, CHECK_STEPS = 8, 160
"""Size of the rollout an export is checked on."""
GOLDEN_PAIRS = 8
UNUSED_IN_EXPORT = {
    "env.num_envs": "an export does not depend on the number of worlds",
    "env.simulation.steps": "an export plays nothing back",
    "env.simulation.vis": "an export shows no window; use play",
}


@dataclass(frozen=True)
class ExportRequest:
    """What the user asked to export."""

    task: str
    checkpoint: Path
    overrides: list[tuple[str, str]] = field(default_factory=list)
    format: Literal["torchscript", "onnx"] = "torchscript"
    out: Path | None = None
    opset: int | None = None

    @property
    def path(self) -> Path:
        return self.out or Path(f"policy{exporter.SUFFIXES[self.format][0]}")


def run_export(request: ExportRequest, say: Say = print) -> dict[str, Any]:
    """Write policy, metadata and scene; return the metadata."""
    _check(request)
    path = request.path
    _, inference, _ = setup_policy(
        request.task, request.checkpoint, request.overrides, num_envs=CHECK_WORLDS, unused=UNUSED_IN_EXPORT, say=say
    )
    env, deployed = inference.env, inference.policy.deployed
    layout = exporter.observation_layout(env, (*deployed.obs_groups, *deployed.image_groups))
    network = exporter.build(deployed, layout)
    recording = record(env, inference.policy, CHECK_STEPS)
    opset = (request.opset or exporter.DEFAULT_OPSET) if request.format == "onnx" else None
    errors: list[float] = []

    def write_checked(temporary: Path) -> None:
        """Raises if the file differs from the policy by more than rounding."""
        if opset is None:
            exporter.write_torchscript(network, temporary)
            runtime = load_torchscript(temporary, env.num_envs, bool(deployed.state_shapes))
        else:
            exporter.write_onnx(network, temporary, opset)
            runtime = load_onnx(temporary, env.num_envs)
        errors.append(max_error(runtime, recording))
        if not errors[0] <= TOLERANCE:
            found = f"{errors[0]:.2g} (more than {TOLERANCE:g} in {recording.observations} observations)"
            raise RunStopped(f"the exported policy differs from '{request.checkpoint}' by {found}: nothing written")

    scene = path.with_name(f"{path.name}.scene.xml")
    with closing(env), writing(path):
        write_atomic(path, write_checked)
        write_text(scene, env.scene.spec.to_xml())
        metadata = {
            "task": request.task,
            "checkpoint": str(request.checkpoint),
            "format": request.format,
            "opset": opset,
            "file": path.name,
            "sha256": file_sha256(path),
            "exported_at": provenance.now(),
            "git_commit": provenance.git_commit(),
            "torch_version": provenance.versions()["torch"],
            "versions": provenance.versions("onnx", "onnxruntime"),
            **describe(env, deployed, layout),
            "scene": {"file": scene.name, "sha256": file_sha256(scene), **describe_scene(env)},
            "self_check": {"max_error": errors[0], "tolerance": TOLERANCE, "observations": recording.observations},
            "golden": _golden(recording, deployed),
        }
        write_json(path.with_name(f"{path.name}.metadata.json"), metadata)
    return metadata


def _check(request: ExportRequest) -> None:
    if request.path.resolve() == request.checkpoint.resolve():
        raise UserError(f"'{request.path}' is the checkpoint itself: choose another --out")
    for other, suffixes in exporter.SUFFIXES.items():
        if other != request.format and request.path.suffix in suffixes:
            raise UserError(f"'{request.path}' is a name for {other}: choose --format {other} or another --out")
    opset, known = request.opset, exporter.OPSETS
    if opset is not None and request.format != "onnx":
        raise UserError("--opset goes with --format onnx")
    if opset is not None and opset not in known:
        raise UserError(f"opset {opset} is not available: choose {known.start} to {known.stop - 1}")


def _golden(recording: Recording, deployed: Deployed) -> list[dict[str, Any]]:
    """Inputs with the outputs they must give, in this order, from a zero state that is carried on."""
    steps, recurrent = recording.obs.shape[0], bool(deployed.state_shapes)
    # A recurrent policy needs consecutive steps of one episode; without a state, different situations say more.
    first_episode = int(recording.starts[:, 0].nonzero()[1])
    chosen = range(min(GOLDEN_PAIRS, first_episode)) if recurrent else range(0, steps, steps // GOLDEN_PAIRS)
    images = dict(zip(deployed.image_groups, recording.images, strict=True))
    pairs = []
    for t in chosen:
        seen = {"images": {name: image[t, 0].tolist() for name, image in images.items()}} if images else {}
        pairs.append({"obs": recording.obs[t, 0].tolist(), **seen, "actions": recording.actions[t, 0].tolist()})
    return pairs
