"""A Rubik's cube that is scrambled and solved again."""

import itertools
from functools import cache
from typing import NamedTuple

import mujoco
import numpy as np
import torch
from torch import Tensor

from genelab.core.math import quat_from_axis_angle, quat_mul
from genelab.core.ranges import Positive
from genelab.envs import ManagerBasedEnv, ManagerBasedEnvCfg, SimulationCfg
from genelab.scene.scene import EntityCfg, GroundCfg, SceneCfg

SCRAMBLE = "R U2 F' L D B2 R' F U' L2 B D' R2 F2 U B' L' D2"
"""Turns of faces, clockwise as seen from outside; ``'`` is the other way, 2 is half a turn."""
TURN_S = 0.6
"""Seconds that a turn takes, and a pause."""
PAUSES = 3
"""Before the scramble, and between it and the solution."""
CUBIES = tuple(place for place in itertools.product((-1, 0, 1), repeat=3) if any(place))
"""Where each cubie is in the solved cube. Its body has the same number among those of the cube."""
FACES = {"R": (0, 1), "L": (0, -1), "B": (1, 1), "F": (1, -1), "U": (2, 1), "D": (2, -1)}
"""Axis that a face turns about, and its side of the cube."""
COLOURS = {"R": "0.78 0.10 0.12", "L": "0.98 0.47 0.05", "B": "0.05 0.28 0.68"}
COLOURS |= {"F": "0.06 0.56 0.28", "U": "0.97 0.97 0.97", "D": "0.98 0.83 0.08"}


class Turn(NamedTuple):
    """A turn of one layer: quarter turns about an axis, which count as angles do. Without any, it is a pause."""

    axis: int
    side: int
    quarters: int


def rubiks(play: bool = False) -> ManagerBasedEnvCfg:
    """A Rubik's cube is scrambled and solved, again and again.

    Each cubie is on a ball joint in the middle of the cube. A script turns them, layer by layer; no forces act.
    """
    entity = EntityCfg(model=cube, params={"edge": 0.25}, pos=(0.0, 0.0, 0.825))
    return ManagerBasedEnvCfg(
        scene=SceneCfg(robots={"cube": entity}, ground=GroundCfg(collide=False)),
        simulation=SimulationCfg(dt=0.02, gravity=(0.0, 0.0, 0.0)),
        playback=turn_layers,
        camera="cube/front",
    )


def cube(edge: Positive) -> mujoco.MjSpec:
    """A Rubik's cube over a plinth, with cubies of some edge, metres. The plinth touches nothing."""
    bodies = "\n".join(_cubie(place, edge) for place in CUBIES)
    return mujoco.MjSpec.from_string(f"""
    <mujoco>
      <default><geom contype="0" conaffinity="0" type="box"/></default>
      <worldbody>
        <camera name="front" pos="{6.2 * edge} {-9.0 * edge} {4.6 * edge}" fovy="34" mode="targetbody" target="core"/>
        <geom type="cylinder" size="{1.5 * edge} {0.1 * edge}" pos="0 0 {-3.2 * edge}" rgba="0.20 0.22 0.26 1"/>
        <body name="core">{bodies}
        </body>
      </worldbody>
    </mujoco>""")


def script() -> list[Turn]:
    """The turns: pauses, the scramble, pauses, and its solution."""
    turns = [(*FACES[word[0]], {"": 1, "'": -1, "2": 2}[word[1:]]) for word in SCRAMBLE.split()]
    scramble = [Turn(axis, side, -side * quarters) for axis, side, quarters in turns]
    solution = [turn._replace(quarters=-turn.quarters) for turn in reversed(scramble)]
    pauses = [Turn(0, 0, 0)] * PAUSES
    return [*pauses, *scramble, *pauses, *solution]


@cache
def rests() -> np.ndarray:
    """How each cubie is turned before each turn of the script, and after the last.  (T + 1, 26, 3, 3) whole numbers"""
    turned = [np.tile(np.eye(3, dtype=int), (len(CUBIES), 1, 1))]
    for turn in script():
        now = turned[-1].copy()
        layer = in_layer(now, turn)
        now[layer] = _quarter_turns(turn) @ now[layer]
        turned.append(now)
    return np.stack(turned)


def in_layer(turned: np.ndarray, turn: Turn) -> np.ndarray:
    """Which cubies a turn moves.  (26,) bool"""
    return np.einsum("cij,cj->ci", turned, np.array(CUBIES))[:, turn.axis] == turn.side


def turn_layers(env: ManagerBasedEnv, step: int) -> None:
    """Put the cubies of all worlds where the script has them after this control step."""
    turns, (number, part) = script(), divmod((step + 1) * env.step_dt / TURN_S, 1.0)
    turn, turned = turns[int(number) % len(turns)], rests()[int(number) % len(turns)]
    angle = 0.5 * np.pi * turn.quarters * part**2 * (3.0 - 2.0 * part)  # slow at both ends
    quat, moved = _quaternions(turned), torch.from_numpy(in_layer(turned, turn))
    about = quat_from_axis_angle(torch.eye(3)[turn.axis], torch.tensor(angle, dtype=torch.float32))
    quat[moved] = quat_mul(about.expand_as(quat[moved]), quat[moved])
    qpos = quat.flatten().to(env.device).expand(env.num_envs, -1)
    env.engine.set_state(env.worlds, qpos, torch.zeros_like(env.engine.qvel))


def _quarter_turns(turn: Turn) -> np.ndarray:
    """The matrix of a turn, whole numbers."""
    quarter = np.cross(np.eye(3, dtype=int)[turn.axis], np.eye(3, dtype=int)).T
    quarter[turn.axis, turn.axis] = 1
    return np.linalg.matrix_power(quarter, turn.quarters % 4)


def _quaternions(turned: np.ndarray) -> Tensor:
    quats = np.zeros((len(turned), 4))
    for quat, matrix in zip(quats, turned, strict=True):
        mujoco.mju_mat2Quat(quat, matrix.astype(np.float64).flatten())
    return torch.from_numpy(quats).float()


def _cubie(place: tuple[int, ...], edge: float) -> str:
    """A black box with a sticker on each face that is outside. The body's origin is the middle of the cube."""
    x, y, z = (edge * at for at in place)
    shapes = [f'<geom pos="{x} {y} {z}" size="{0.49 * edge} {0.49 * edge} {0.49 * edge}" rgba="0.04 0.04 0.05 1"/>']
    for face, (axis, side) in FACES.items():
        if place[axis] == side:
            pos, size = [x, y, z], [0.42 * edge] * 3
            pos[axis], size[axis] = 1.49 * side * edge, 0.02 * edge
            at, half = (" ".join(map(str, values)) for values in (pos, size))
            shapes.append(f'<geom pos="{at}" size="{half}" rgba="{COLOURS[face]} 1"/>')
    return f'<body name="cubie {place}"><joint type="ball"/>{"".join(shapes)}</body>'
