"""A trained policy as one file: raw observations in, actions out.

Training scales and clips observations in the environment, so the network never sees raw values. A deployed robot has
nothing but raw values: the exported network scales and clips them itself, then normalises and acts. Noise is never part
of it.

TorchScript keeps the state of a recurrent policy inside, for one robot, and has ``reset()``. ONNX has it as ports:
``obs, h_in[, c_in] -> actions, h_out[, c_out]``, each (layers, batch, hidden), zero at the start of an episode.
"""

import copy
import io
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn

from genelab.core.errors import UserError
from genelab.envs import ManagerBasedRlEnv
from genelab.rl.backends.base import Actor

SUFFIXES = {"torchscript": (".ts", ".pt", ".pth", ".jit"), "onnx": (".onnx",)}
"""Formats, with the file names that belong to them."""
DEFAULT_OPSET = 17
OPSETS = range(9, 21)
"""Versions of ONNX's operator set that torch can write."""


@dataclass(frozen=True)
class TermLayout:
    """One observation term's columns."""

    name: str
    start: int
    """First column within a frame of the group."""
    dim: int
    scale: float
    clip: tuple[float, float] | None


@dataclass(frozen=True)
class GroupLayout:
    """One observation group's columns: `history` frames, oldest first, each with all terms."""

    name: str
    start: int
    """First column within the flat observation."""
    history: int
    terms: tuple[TermLayout, ...]

    @property
    def frame_dim(self) -> int:
        return sum(term.dim for term in self.terms)

    @property
    def dim(self) -> int:
        return self.frame_dim * self.history


def observation_layout(env: ManagerBasedRlEnv, groups: tuple[str, ...]) -> tuple[GroupLayout, ...]:
    """The columns of the flat observation that consists of these groups."""
    layout: list[GroupLayout] = []
    for name in groups:
        group = env.observation_manager.groups[name]
        terms, start = [], 0
        for term, cfg in group.cfg.terms.items():
            terms.append(TermLayout(term, start, group.term_dims[term], cfg.scale, cfg.clip))
            start += group.term_dims[term]
        layout.append(GroupLayout(name, sum(g.dim for g in layout), group.cfg.history, tuple(terms)))
    return tuple(layout)


def state_ports(actor: Actor) -> tuple[str, ...]:
    """Names of the recurrent states: none, ``h``, or ``h`` and ``c``."""
    if actor.rnn is None:
        return ()
    return ("h", "c") if isinstance(actor.rnn, nn.LSTM) else ("h",)


class Network(nn.Module):
    """What all exported networks do first: scale, clip, normalise."""

    scales: Final[bool]
    clips: Final[bool]
    scale: Tensor
    low: Tensor
    high: Tensor

    def __init__(self, actor: Actor, layout: tuple[GroupLayout, ...]):
        super().__init__()
        columns = [term for g in layout for _ in range(g.history) for term in g.terms for _ in range(term.dim)]
        limits = [term.clip or (-torch.inf, torch.inf) for term in columns]
        self.register_buffer("scale", torch.tensor([term.scale for term in columns]))
        self.register_buffer("low", torch.tensor([low for low, _ in limits]))
        self.register_buffer("high", torch.tensor([high for _, high in limits]))
        self.scales = any(term.scale != 1.0 for term in columns)
        self.clips = any(term.clip is not None for term in columns)
        self.obs_dim = actor.obs_dim
        self.normalizer = actor.normalizer or nn.Identity()
        self.head = actor.head

    def prepare(self, obs: Tensor) -> Tensor:
        """From raw values (N, obs_dim) to what the network was trained on."""
        if self.scales:
            obs = obs * self.scale
        if self.clips:
            obs = torch.minimum(torch.maximum(obs, self.low), self.high)
        return self.normalizer(obs)


class _FeedForward(Network):
    def forward(self, obs: Tensor) -> Tensor:
        return self.head(self.prepare(obs))

    @torch.jit.export
    def reset(self) -> None:
        """Nothing to forget: here so that a program can treat all policies alike."""


class _Recurrent(Network):
    is_lstm: Final[bool]

    def __init__(self, actor: Actor, layout: tuple[GroupLayout, ...]):
        super().__init__(actor, layout)
        assert actor.rnn is not None
        self.rnn = actor.rnn
        self.is_lstm = isinstance(actor.rnn, nn.LSTM)
        self.ports = state_ports(actor)
        self.state_shape = (actor.rnn.num_layers, 1, actor.rnn.hidden_size)

    def forward(self, obs: Tensor, state: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        x = self.prepare(obs).unsqueeze(0)
        if self.is_lstm:
            x, (h, c) = self.rnn(x, (state[0], state[1]))
            return self.head(x.squeeze(0)), [h, c]
        else:  # TorchScript compiles one branch, and only sees that it does with an else
            x, h = self.rnn(x, state[0])
            return self.head(x.squeeze(0)), [h]


class _Stateful(nn.Module):
    """A recurrent network that remembers, for one robot."""

    state: Tensor

    def __init__(self, network: _Recurrent):
        super().__init__()
        self.network = network
        self.register_buffer("state", torch.zeros(len(network.ports), *network.state_shape))

    def forward(self, obs: Tensor) -> Tensor:
        actions, state = self.network(obs, list(self.state.unbind(0)))
        self.state.copy_(torch.stack(state))
        return actions

    @torch.jit.export
    def reset(self) -> None:
        self.state.zero_()


class _WithPorts(nn.Module):
    """A recurrent network whose states come in and go out one by one."""

    def __init__(self, network: _Recurrent):
        super().__init__()
        self.network = network

    def forward(self, obs: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        actions, after = self.network(obs, list(state))
        return (actions, *after)


def build(actor: Actor, layout: tuple[GroupLayout, ...]) -> Network:
    """The actor as a network of the raw observation. A copy, on the CPU."""
    width = sum(group.dim for group in layout)
    if width != actor.obs_dim:
        parts = " + ".join(f"{group.name} {group.dim}" for group in layout)
        raise UserError(f"the policy reads {actor.obs_dim} observations, the environment has {width} ({parts})")
    network = _FeedForward(actor, layout) if actor.rnn is None else _Recurrent(actor, layout)
    return copy.deepcopy(network).cpu().eval().requires_grad_(False)


def write_torchscript(network: Network, path: Path) -> None:
    """Store a network of `build` as TorchScript."""
    module = _Stateful(network) if isinstance(network, _Recurrent) else network
    buffer = io.BytesIO()  # a file's own name would become part of its content
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch advertises its successors
        torch.jit.save(torch.jit.script(module), buffer)
    path.write_bytes(buffer.getvalue())


def write_onnx(network: Network, path: Path, opset: int = DEFAULT_OPSET) -> None:
    """Store a network of `build` as one self-contained ONNX file."""
    import onnx

    example: list[Tensor] = [torch.zeros(1, network.obs_dim)]
    inputs, outputs = ["obs"], ["actions"]
    axes: dict[str, dict[int, str]] = {"obs": {0: "batch"}, "actions": {0: "batch"}}
    module: nn.Module = network
    if isinstance(network, _Recurrent):
        module = _WithPorts(network)
        for port in network.ports:
            example.append(torch.zeros(network.state_shape))
            inputs.append(f"{port}_in")
            outputs.append(f"{port}_out")
            axes |= {f"{port}_in": {1: "batch"}, f"{port}_out": {1: "batch"}}
    buffer: Any = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            torch.onnx.export(
                module,
                tuple(example),
                buffer,
                dynamo=False,  # the exporter that keeps weights inside the file
                opset_version=opset,
                input_names=inputs,
                output_names=outputs,
                dynamic_axes=axes,
            )
        except torch.onnx.errors.OnnxExporterError as error:
            raise UserError(f"opset {opset} cannot express this policy: {str(error).splitlines()[0]}") from error
    onnx.checker.check_model(buffer.getvalue(), full_check=True)
    path.write_bytes(buffer.getvalue())
