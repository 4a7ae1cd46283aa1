"""The contract check: what a policy takes for granted, compared by name between its run and every engine.

A structural difference (names, order, layout of observations and actions, default pose, quaternion order, which
actuator moves which joint) means that the policy would not control the same robot: nothing is run. A number that
differs is listed, and the rest of the report shows what it does.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import torch

from genelab.core.config import flatten, to_dict
from genelab.core.errors import UserError
from genelab.core.run_files import RUN_FILE
from genelab.engines.description import Description, describe_model
from genelab.envs import ManagerBasedRlEnvCfg
from genelab.experiment.paired import PairedEnv
from genelab.experiment.run.directory import Run
from genelab.scene.scene import Scene

RELATIVE, ABSOLUTE = 1e-4, 1e-5
"""Numbers differ beyond this share of themselves plus this share of the largest of their field."""
CLEAR = 2.0
"""An actuator's joint is the one that it accelerates this many times more than any other."""
NOT_STRUCTURAL = ("noise", "latency", "control dt")
"""Parts of the layout that a policy was trained to bear, or that are numbers of the physics."""


@dataclass(frozen=True)
class Contract:
    """What one engine, or the run of a checkpoint, says."""

    owner: str
    physics: Description
    dofs: tuple[str, ...]
    """Name of every degree of freedom."""
    layout: dict[str, Any]
    """Plain data by topic; a topic that only one of two contracts has is not compared."""


@dataclass(frozen=True)
class Difference:
    """One thing that two contracts do not agree on."""

    reference: str
    owner: str
    field: str
    name: str
    expected: Any
    found: Any
    structural: bool

    def __str__(self) -> str:
        place = f"{self.field} of '{self.name}'" if self.name else self.field
        return f"{place} is {text_of(self.found)} in {self.owner} and {text_of(self.expected)} in {self.reference}"


def contract_of(env: PairedEnv) -> Contract:
    """What an engine really has, read back from it."""
    physics = env.engine.describe()
    layout = _config_layout(env.cfg) | {
        "observation columns": {name: group.term_dims for name, group in env.observation_manager.groups.items()},
        "action order": {name: term.describe() for name, term in env.action_manager.terms.items()},
        "quaternion order": _quaternion_order(env),
        "actuated joint": _responses(env),
    }
    env.engine.reset(env.worlds)
    layout["default pose"] = env.engine.qpos[0].double().tolist()
    return Contract(env.cfg.simulation.engine, physics, _dof_names(env.scene.model, physics.joint_names), layout)


def recorded_contract(checkpoint: Path) -> tuple[Contract | None, str]:
    """What the run of a checkpoint was trained with, or None and why that is not known."""
    if not (checkpoint.parent / RUN_FILE).is_file():
        return None, "the checkpoint is not in a run directory, so its training config is not compared"
    try:
        cfg, _ = Run.open(checkpoint.parent).configs()
        scene = Scene(cfg.scene, cfg.simulation.dt, cfg.simulation)
    except (UserError, TypeError) as error:  # a run of another version of the task
        return None, f"the training config of the checkpoint is not compared: {error}"
    physics = describe_model(scene.model)
    layout = _config_layout(cfg) | {"default pose": scene.default_qpos.tolist()}
    return Contract("its run", physics, _dof_names(scene.model, physics.joint_names), layout), ""


def differences(reference: Contract, other: Contract, whole_scene: bool = True) -> list[Difference]:
    """Differences, structural first. Without `whole_scene` (other ground), not in which bodies and geoms there are."""
    found: list[Difference] = []

    def check(field: str, name: str, expected: Any, value: Any, same: bool, structural: bool) -> None:
        if not same:
            found.append(Difference(reference.owner, other.owner, field, name, expected, value, structural))

    for field in ("joint_names", "actuator_names", *(("body_names", "geom_names") if whole_scene else ())):
        ours, theirs = list(getattr(reference.physics, field)), list(getattr(other.physics, field))
        check(field, "", ours, theirs, ours == theirs, True)
    for topic in [topic for topic in reference.layout if topic in other.layout]:
        ours, theirs = flatten(reference.layout[topic]), flatten(other.layout[topic])
        # A measured topic says nothing where it is not clear, which is no difference.
        names = [n for n in {**ours, **theirs} if topic != "actuated joint" or (n in ours and n in theirs)]
        for name in names:
            structural = not {topic, name.rpartition(".")[2]} & {*NOT_STRUCTURAL}
            check(topic, name, ours.get(name), theirs.get(name), _same(ours.get(name), theirs.get(name)), structural)
    for field in Description.numbers():
        ours, theirs = _by_name(reference, field), _by_name(other, field)
        known = np.concatenate([value[np.isfinite(value)].ravel() for value in ours.values()] or [np.zeros(0)])
        tolerance = ABSOLUTE * float(np.abs(known).max(initial=0.0))
        for name in [name for name in ours if name in theirs]:
            a, b = ours[name], theirs[name]
            same = np.isclose(a, b, rtol=RELATIVE, atol=tolerance) | np.isnan(a) | np.isnan(b)
            check(field, name, a.tolist(), b.tolist(), bool(same.all()), False)
    return sorted(found, key=lambda difference: not difference.structural)


def unreported(contract: Contract) -> list[str]:
    """Numbers that an engine says nothing about."""
    values = {field: np.asarray(getattr(contract.physics, field)) for field in Description.numbers()}
    return [field for field, value in values.items() if value.size and np.isnan(value).all()]


def _config_layout(cfg: ManagerBasedRlEnvCfg) -> dict[str, Any]:
    observations = {
        name: {"history": group.history, "order": list(group.terms)} | {k: to_dict(t) for k, t in group.terms.items()}
        for name, group in cfg.observations.items()
    }
    actions = {name: to_dict(action) for name, action in cfg.actions.items()}
    return {"observations": observations, "actions": actions, "control dt": cfg.control_dt}


def _quaternion_order(env: PairedEnv) -> str | None:
    """How a free joint's orientation comes back after it was set as wxyz; None without free joints."""
    if not (free := [e.free_qpos for e in env.scene.entities.values() if e.free_qpos is not None]):
        return None
    columns = slice(free[0] + 3, free[0] + 7)
    qpos = env.engine.default_qpos.expand(env.num_envs, -1).clone()
    qpos[:, columns] = wxyz = torch.tensor([0.8, 0.4, 0.4, 0.2], device=env.device)
    env.engine.set_state(env.worlds, qpos, torch.zeros_like(env.engine.qvel))
    orders = {"wxyz": wxyz, "xyzw": wxyz.roll(-1)}
    read = env.engine.qpos[0, columns].abs()
    return next((name for name, quat in orders.items() if torch.allclose(read, quat, atol=1e-4)), "unknown")


def _responses(env: PairedEnv) -> dict[str, str]:
    """For each actuator, the joint that it accelerates most, where that is clear. Engines cannot mislabel this."""
    model, engine = env.scene.model, env.engine
    dofs = _dof_names(model, tuple(model.joint(i).name for i in range(model.njnt)))
    rest = _holding_controls(env)
    found: dict[str, str] = {}
    for actuator in range(model.nu):
        velocities = []
        for push in (0.0, 0.05):
            engine.reset(env.worlds)
            engine.ctrl[:] = torch.tensor(rest, dtype=torch.float32, device=env.device)
            engine.ctrl[:, actuator] += push
            engine.step(1)
            velocities.append(engine.qvel[0].clone())
        change = (velocities[1] - velocities[0]).abs()
        most, *others = change.sort(descending=True).values.tolist()
        if most > max(1e-6, CLEAR * (others[0] if others else 0.0)):
            found[model.actuator(actuator).name] = dofs[int(change.argmax())]
    return found


def _holding_controls(env: PairedEnv) -> np.ndarray:
    """(nu,) the default position for position servos of joints, zero for other actuators."""
    controls = np.zeros(env.scene.model.nu)
    for layout in env.scene.entities.values():
        position = dict(zip(layout.joint_names, env.scene.default_qpos[layout.qpos_ids], strict=True))
        actuators = zip(layout.actuator_ids, layout.actuated_joints, layout.actuator_kinds, strict=True)
        for actuator, joint, kind in actuators:
            if kind == "position" and joint in position:
                controls[actuator] = position[joint]
    return controls


def _dof_names(model: mujoco.MjModel, joints: tuple[str, ...]) -> tuple[str, ...]:
    sizes = {mujoco.mjtJoint.mjJNT_FREE.value: 6, mujoco.mjtJoint.mjJNT_BALL.value: 3}
    counted = [(name, sizes.get(int(kind), 1)) for name, kind in zip(joints, model.jnt_type, strict=True)]
    return tuple(name if count == 1 else f"{name}[{axis}]" for name, count in counted for axis in range(count))


def _by_name(contract: Contract, field: str) -> dict[str, np.ndarray]:
    values = np.atleast_1d(np.asarray(getattr(contract.physics, field), dtype=float))
    kind = field.partition("_")[0]
    names = getattr(contract.physics, f"{kind}_names", ("x", "y", "z") if field == "gravity" else ("",))
    if kind == "joint" and field != "joint_range":
        names = contract.dofs
    labels = [name or ("" if len(values) == 1 else f"#{index}") for index, name in enumerate(names)]
    return dict(zip(labels, values, strict=True))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return all(map(_same, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return a == b


def text_of(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(text_of, value))}]"
    return f"{value:.6g}" if isinstance(value, float) else "nothing" if value is None else str(value)
