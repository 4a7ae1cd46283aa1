"""genelab export"""

from pathlib import Path
from typing import Annotated, Literal

import typer

from genelab.cli.options import Checkpoint, Dt, Gpu, Sim, Task, option, shortcuts
from genelab.experiment.console import say


def export(
    ctx: typer.Context,
    task: Task,
    checkpoint: Checkpoint,
    format: Annotated[Literal["torchscript", "onnx"], typer.Option(help="Write this kind of file.")] = "torchscript",
    out: Annotated[Path | None, option("Write the policy here (policy.ts or policy.onnx).")] = None,
    opset: Annotated[int | None, option("Use this version of ONNX's operators (17).")] = None,
    sim: Sim = None,
    gpu: Gpu = False,
    dt: Dt = None,
) -> None:
    """Write a policy as TorchScript or ONNX, with scale, clip and normalisation inside, and check it.

    Beside it come <out>.metadata.json, all that deployment needs to know, and <out>.scene.xml, the MuJoCo model.

    Example: genelab export GeneLab-Inverted-Pendulum-v0 logs/…/model_final.pt --format onnx --out policy.onnx
    """
    from genelab.experiment.export import ExportRequest, run_export

    request = ExportRequest(task, checkpoint, shortcuts(ctx.obj, gpu=gpu, dt=dt, sim=sim), format, out, opset)
    metadata = run_export(request, say)
    check = metadata["self_check"]
    error = f"max error {check['max_error']:.1e} over {check['observations']} observations"
    say(f"{metadata['obs_dim']} raw observations -> {metadata['action_dim']} actions, {error}")
    say(f"written to {request.path}, {request.path}.metadata.json and {request.path}.scene.xml")
