"""A trained policy as one file: raw observations in, actions out.

The policy exports itself: it hands over one module with explicit state (`genelab.rl.deployed`), whatever is inside.

Training scales and clips observations in the environment, so the network never sees raw values. A deployed robot has
nothing but raw values: the exported network scales and clips them itself, then normalises and acts. Noise is never part
of it.

TorchScript keeps the state inside, for one robot, and has ``reset()``; it takes ``obs``, and a list of images if the
policy sees any. ONNX has images and states as ports: ``obs``, image groups, ``h_in``, ``c_in`` to ``actions``,
``h_out``, ``c_out``; states are (layers, batch, hidden) and zero at the start of an episode.
"""

import copy
import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn

from genelab.core.errors import UserError
from genelab.envs import ManagerBasedRlEnv
from genelab.envs.managers.observation import ObservationGroup
from genelab.rl.backends.base import Policy
from genelab.rl.deployed import Deployed, flat

SUFFIXES = {"torchscript": (".ts", ".pt", ".pth", ".jit"), "onnx": (".onnx",)}
"""Formats, with the file names that belong to them."""
DEFAULT_OPSET = 17
OPSETS = range(9, 21)
"""Versions of ONNX's operator set that torch can write."""
TOLERANCE = 1e-5
"""Largest difference between the actions of a policy and those of its export."""

Runtime = Callable[[Tensor, list[Tensor], Tensor], Tensor]
"""A loaded export: raw observations (N, D), images (N, C, H, W) and where an episode starts (N,) to actions (N, A)."""


def observation_layout(env: ManagerBasedRlEnv, groups: tuple[str, ...]) -> tuple[ObservationGroup, ...]:
    """The groups that a policy reads: vectors stand side by side in the flat observation, images apart."""
    return tuple(env.observation_manager.groups[name] for name in groups)


class ScaleAndClip(nn.Module):
    """What the environment does to raw observations, term by term."""

    scales: Final[bool]
    clips: Final[bool]
    scale: Tensor
    low: Tensor
    high: Tensor

    def __init__(self, groups: Sequence[ObservationGroup]):
        super().__init__()
        frames = [group for group in groups for _ in range(group.cfg.history)]
        for name in ("scale", "low", "high"):
            self.register_buffer(name, torch.cat([getattr(group, name) for group in frames]))
        self.scales, self.clips = any(group.scales for group in groups), any(group.clips for group in groups)

    def forward(self, x: Tensor) -> Tensor:
        if self.scales:
            x = x * self.scale
        if self.clips:
            x = torch.minimum(torch.maximum(x, self.low), self.high)
        return x


class Network(nn.Module):
    """A deployed policy behind what the environment does to raw observations."""

    def __init__(self, deployed: Deployed, layout: tuple[ObservationGroup, ...]):
        super().__init__()
        self.prepare = ScaleAndClip([group for group in layout if not group.is_image])
        self.prepare_images = nn.ModuleList(ScaleAndClip([group]) for group in layout if group.is_image)
        self.deployed = deployed

    def forward(self, obs: Tensor, images: list[Tensor], state: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        seen: list[Tensor] = []
        for i, prepare in enumerate(self.prepare_images):
            seen.append(prepare(images[i]))
        return self.deployed(self.prepare(obs), seen, state)


class _OnRobot(nn.Module):
    """A network that remembers its state, for one robot."""

    shapes: list[list[int]]
    sizes: list[int]
    state: Tensor

    def __init__(self, network: Network):
        super().__init__()
        self.network = network
        self.shapes = [[layers, 1, size] for layers, size in network.deployed.state_shapes.values()]
        self.sizes = [layers * size for layers, _, size in self.shapes]
        self.register_buffer("state", torch.zeros(sum(self.sizes)))

    def act(self, obs: Tensor, images: list[Tensor]) -> Tensor:
        state: list[Tensor] = []
        for i, part in enumerate(torch.split(self.state, self.sizes)):
            state.append(part.view(self.shapes[i]))
        actions, after = self.network(obs, images, state)
        if len(after) > 0:
            self.state.copy_(torch.cat([part.flatten() for part in after]))
        return actions

    @torch.jit.export
    def reset(self) -> None:
        self.state.zero_()


class _FlatOnRobot(_OnRobot):
    def forward(self, obs: Tensor) -> Tensor:
        return self.act(obs, [])


class _SeeingOnRobot(_OnRobot):
    def forward(self, obs: Tensor, images: list[Tensor]) -> Tensor:
        return self.act(obs, images)


class _WithPorts(nn.Module):
    """A network whose images and states come in, and whose states go out, one by one."""

    def __init__(self, network: Network):
        super().__init__()
        self.network = network
        self.images = len(network.deployed.image_groups)

    def forward(self, obs: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
        actions, after = self.network(obs, list(rest[: self.images]), list(rest[self.images :]))
        return (actions, *after)


def ports(deployed: Deployed) -> tuple[list[str], list[str]]:
    """Names of the inputs and outputs of an ONNX file."""
    states = list(deployed.state_shapes)
    inputs = ["obs", *deployed.image_groups, *(f"{name}_in" for name in states)]
    return inputs, ["actions", *(f"{name}_out" for name in states)]


def build(deployed: Deployed, layout: tuple[ObservationGroup, ...]) -> Network:
    """A deployed policy as a network of the raw observation. A copy, on the CPU."""
    flat_groups = [group for group in layout if not group.is_image]
    width = sum(group.dim for group in flat_groups)
    if width != deployed.obs_dim:
        parts = " + ".join(f"{group.name} {group.dim}" for group in flat_groups)
        raise UserError(f"the policy reads {deployed.obs_dim} observations, the environment has {width} ({parts})")
    return Network(copy.deepcopy(deployed), layout).cpu().eval().requires_grad_(False)


def write_torchscript(network: Network, path: Path) -> None:
    """Store a network of `build` as TorchScript."""
    module = _SeeingOnRobot(network) if network.deployed.image_groups else _FlatOnRobot(network)
    buffer = io.BytesIO()  # a file's own name would become part of its content
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch advertises its successors
        torch.jit.save(torch.jit.script(module.eval()), buffer)
    path.write_bytes(buffer.getvalue())


def write_onnx(network: Network, path: Path, opset: int = DEFAULT_OPSET) -> None:
    """Store a network of `build` as one self-contained ONNX file."""
    import onnx

    deployed = network.deployed
    inputs, outputs = ports(deployed)
    example: list[Tensor] = [torch.zeros(1, deployed.obs_dim)]
    example += [torch.zeros(1, *shape) for shape in deployed.image_shapes]
    example += [torch.zeros(layers, 1, size) for layers, size in deployed.state_shapes.values()]
    states = {f"{name}_{way}" for name in deployed.state_shapes for way in ("in", "out")}
    axes = {name: {1 if name in states else 0: "batch"} for name in (*inputs, *outputs)}
    settings = {"opset_version": opset, "input_names": inputs, "output_names": outputs, "dynamic_axes": axes}
    buffer: Any = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:  # not by dynamo, which leaves weights outside the file
            torch.onnx.export(_WithPorts(network), tuple(example), buffer, dynamo=False, **settings)
        except torch.onnx.errors.OnnxExporterError as error:
            raise UserError(f"opset {opset} cannot express this policy: {str(error).splitlines()[0]}") from error
    onnx.checker.check_model(buffer.getvalue(), full_check=True)
    path.write_bytes(buffer.getvalue())


@dataclass(frozen=True)
class Recording:
    """What a policy saw and did in T control steps of N worlds."""

    obs: Tensor
    """(T, N, D) raw: with noise, before scale and clip."""
    starts: Tensor
    """(T, N) bool: the observation is the first of its episode."""
    actions: Tensor
    """(T, N, A)"""
    images: tuple[Tensor, ...] = ()
    """(T, N, C, H, W) for each observation group that is an image, raw too."""

    @property
    def observations(self) -> int:
        return self.obs.shape[0] * self.obs.shape[1]


@torch.no_grad()
def record(env: ManagerBasedRlEnv, policy: Policy, steps: int, seed: int = 0) -> Recording:
    """What sensors show a policy that acts. All start anew half-way, to show that recurrent states are forgotten."""
    obs, images, starts, actions = [], [], [], []
    flat_groups, image_groups = policy.deployed.obs_groups, policy.deployed.image_groups
    with env.observation_manager.raw((*flat_groups, *image_groups)) as groups:
        for step in range(steps):
            if step in (0, steps // 2):
                env.reset(seed + step)
                policy.reset()
                started = torch.ones(env.num_envs, dtype=torch.bool, device=env.device)
            seen = env.obs | {group.name: group.process_raw(env.obs[group.name]) for group in groups}
            obs.append(flat(env.obs, flat_groups).cpu())
            images.append([env.obs[name].cpu() for name in image_groups])
            starts.append(started.cpu())
            actions.append(policy.act(seen).cpu())
            _, _, terminated, truncated, _ = env.step(actions[-1].to(env.device))
            started = terminated | truncated
            policy.reset(started.nonzero().flatten())
    pictures = tuple(torch.stack(steps) for steps in zip(*images, strict=True))
    return Recording(torch.stack(obs), torch.stack(starts), torch.stack(actions), pictures)


def load_torchscript(path: Path, num_envs: int, recurrent: bool) -> Runtime:
    """TorchScript in torch. A recurrent policy has room for one robot's state: one copy per world."""
    modules = [torch.jit.load(str(path)).eval() for _ in range(num_envs if recurrent else 1)]

    @torch.no_grad()
    def act(obs: Tensor, images: list[Tensor], starts: Tensor) -> Tensor:
        if not recurrent:
            return modules[0](obs, images) if images else modules[0](obs)
        for module, first in zip(modules, starts.tolist(), strict=True):
            if first:
                module.reset()
        rows = [(obs[i : i + 1], [image[i : i + 1] for image in images]) for i in range(num_envs)]
        return torch.cat([m(*row) if images else m(row[0]) for m, row in zip(modules, rows, strict=True)])

    return act


def load_onnx(path: Path, num_envs: int) -> Runtime:
    """ONNX in onnxruntime, all worlds at once, from bytes: the file must need no other."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])
    shapes = {port.name: port.shape for port in session.get_inputs()}
    pictures = [name for name, shape in shapes.items() if len(shape) == 4]
    hidden = {name: shape for name, shape in shapes.items() if len(shape) == 3}
    states: dict[str, Any] = {name: np.zeros((s[0], num_envs, s[2]), np.float32) for name, s in hidden.items()}

    def act(obs: Tensor, images: list[Tensor], starts: Tensor) -> Tensor:
        for name in states:
            states[name][:, starts.numpy()] = 0.0
        seen = {name: image.numpy() for name, image in zip(pictures, images, strict=True)}
        actions, *after = (np.asarray(output) for output in session.run(None, {"obs": obs.numpy(), **seen, **states}))
        states.update(zip(list(states), after, strict=True))
        return torch.from_numpy(actions)

    return act


def max_error(runtime: Runtime, recording: Recording) -> float:
    """Largest difference between the recorded actions and those of a loaded export. NaN if either is."""
    errors = [
        (runtime(recording.obs[t], [image[t] for image in recording.images], recording.starts[t]) - actions).abs().max()
        for t, actions in enumerate(recording.actions)
    ]
    return float(torch.stack(errors).max())
