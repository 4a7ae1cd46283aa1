"""How a compiled scene gets into Genesis: the same bodies, joints, shapes and collisions, found by name afterwards.

Genesis is given the compiled `MjModel` itself, so that no value passes through printed XML. What it would leave out or
change is refused before the build; which geoms may touch which is set to MuJoCo's rule after it.
"""

import copy
import logging
import random
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Literal

import mujoco
import numpy as np
import torch
from torch import Tensor

from genelab.core.errors import UserError
from genelab.engines.description import FINEST_TOLERANCE, OPTIONS, part_names
from genelab.scene.options import flags_of

_excepthook = sys.excepthook
import genesis as gs  # noqa: E402

sys.excepthook = _excepthook  # Genesis puts in its own, which prints every traceback twice

POSITION_CONTROL = int(gs.CTRL_MODE.POSITION)
"""The control mode with the affine law of MuJoCo's actuators."""
_SCALARS = (
    *("iterations", "tolerance", "ls_iterations", "ls_tolerance"),
    *("noslip_iterations", "noslip_tolerance", "impratio"),
)
"""Options that Genesis calls as MuJoCo does."""
_CHOICES = {
    option: (field, {getattr(enum, prefix + name.upper()): getattr(getattr(gs, field), name) for name in names})
    for option, field, enum, prefix, names in (
        ("integrator", "integrator", mujoco.mjtIntegrator, "mjINT_", ("Euler", "implicitfast")),
        ("solver", "constraint_solver", mujoco.mjtSolver, "mjSOL_", ("Newton", "CG")),
        ("cone", "friction_cone", mujoco.mjtCone, "mjCONE_", ("pyramidal", "elliptic")),
    )
}
"""Options that are a choice, with Genesis's names of them."""
_PLANE, _SPHERE, _CAPSULE, _CYLINDER, _BOX, _HFIELD = _SHAPES = [
    getattr(mujoco.mjtGeom, f"mjGEOM_{shape}").value
    for shape in ("PLANE", "SPHERE", "CAPSULE", "CYLINDER", "BOX", "HFIELD")
]


class _CompiledModel(gs.morphs.MJCF):
    """An `MjModel` in the place of a file name: Genesis's parser takes it, only the check of the name does not."""

    def is_format(self, format: Any) -> bool:
        return format == gs.constants.MJCF_FORMAT

    def _identifier(self) -> str:
        return "scene"


_EMPTY_WORLD = SimpleNamespace(name="world", idx=0, is_fixed=True, geoms=())
"""Stands for the world, which Genesis leaves out of a scene where it has no shapes."""


class LoadedScene:
    """A built Genesis scene, and where the parts of the compiled model, found by name or body, are in its arrays."""

    def __init__(self, model: mujoco.MjModel, device: str, scene: gs.Scene, entity: Any, terrains: dict[int, Any]):
        def ids(values: list[int]) -> Tensor:
            return torch.tensor(values, dtype=torch.int64, device=device)

        links = {link.name: link for link in entity.links}
        links.setdefault(model.body(0).name, _EMPTY_WORLD)
        joints = {j.name: j for link in entity.links for j in link.joints if j.type != gs.JOINT_TYPE.FIXED}
        names = part_names(model)
        bodies = _in_order("bodies", names["body_names"], links)
        moving = _in_order("joints", names["joint_names"], joints)
        solid, geoms = _find_geoms(model, bodies, terrains)
        self.scene = scene
        self.solver: Any = scene.sim.rigid_solver
        self.q = ids([i for joint in moving for i in range(joint.q_start, joint.q_end)])
        """(nq,) Genesis's index of each position."""
        self.dofs = ids([i for joint in moving for i in range(joint.dof_start, joint.dof_end)])
        """(nv,) Genesis's index of each degree of freedom."""
        self.links = ids([link.idx for link in bodies])
        """(nbody,) Genesis's index of each body."""
        self.movable = torch.tensor([not link.is_fixed for link in bodies], device=device)
        """(nbody,) bool. Genesis has no mass for a body that is fixed to the world."""
        self.solid = ids(solid)
        """Ids of the geoms that can touch something; Genesis has only these as geoms."""
        self.geoms = ids(geoms)
        """Genesis's index of each of them."""


def load_scene(model: mujoco.MjModel, num_envs: int, device: str) -> LoadedScene:
    """Build `num_envs` worlds of a compiled model. Every name must come out as it went in."""
    _refuse_what_genesis_lacks(model)
    _start(device, num_envs)
    sim = gs.options.SimOptions(dt=model.opt.timestep, substeps=1, gravity=tuple(model.opt.gravity))
    scene = gs.Scene(sim_options=sim, rigid_options=_options(model), show_viewer=False)
    try:
        # A default armature would slow joints down, and aligning would move the frames of free bodies.
        as_it_is = {"default_armature": None, "align": False, "decimate": False, "visualization": False}
        entity: Any = scene.add_entity(_CompiledModel(file=copy.copy(model), **as_it_is))
        hfields = np.flatnonzero(model.geom_type == _HFIELD)
        # Contact with primitives follows from the heights. A distance grid, for meshes, takes hours if it is fine.
        coarse = gs.materials.Rigid(sdf_min_res=16, sdf_max_res=16)
        terrains: dict[int, Any] = {i: scene.add_entity(_terrain(model, i), coarse) for i in hfields.tolist()}
        scene.build(n_envs=num_envs)
    except gs.GenesisException as error:
        raise UserError(f"engine 'genesis' cannot simulate this scene: {error}") from error
    loaded = LoadedScene(model, device, scene, entity, terrains)
    for i, terrain in terrains.items():
        index, solref_solimp = [terrain.geoms[0].idx], (*model.geom_solref[i], *model.geom_solimp[i])
        friction = torch.tensor(model.geom_friction[i, :1], dtype=torch.float32, device=device)
        loaded.solver.set_geoms_friction(friction, index)
        loaded.solver.set_sol_params(torch.tensor(solref_solimp, dtype=torch.float32, device=device), index)
    _set_collision_pairs(model, loaded)
    return loaded


def option_values(solver: Any) -> np.ndarray:
    """Settings of the solver, in MuJoCo's numbers. The rest, which Genesis does not have, has no values."""
    values = {name: float(view(getattr(solver.rigid_info, name))) for name in _SCALARS}
    for name, (field, table) in _CHOICES.items():
        chosen = getattr(solver._options, field)
        values[name] = next(int(number) for number, choice in table.items() if choice == chosen)
    return np.array([values.get(name, np.nan) for name in OPTIONS], dtype=np.float64)


def view(array: Any) -> Tensor:
    """A Genesis array as a torch tensor on the same memory, worlds first."""
    return gs.utils.misc.qd_to_torch(array, transpose=True, copy=False)


def arrays(solver: Any, kind: Literal["STATE", "INFO"]) -> dict[str, Tensor]:
    """Views of all that one step leaves for the next (STATE), or of all model parameters (INFO), by Genesis's names."""
    items = (item for item in solver.data if getattr(item, "kind", None) == gs.utils.array_class.DataKind[kind])
    return {item.name: view(item.array) for item in items if hasattr(item, "array") and item.array.shape != ()}


@contextmanager
def no_traces() -> Iterator[None]:
    """Leave random generators as they were (Genesis draws from NumPy's), and keep compiler warnings quiet.

    Tensors made here are also written outside of torch's inference mode, so they must not be born inside it.
    """
    python, numpy, pytorch = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        with warnings.catch_warnings(), torch.inference_mode(False):
            warnings.simplefilter("ignore")
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        torch.set_rng_state(pytorch)


def _refuse_what_genesis_lacks(model: mujoco.MjModel) -> None:
    """An error that names every feature of the scene that Genesis would drop or change."""
    opt, solid = model.opt, (model.geom_contype | model.geom_conaffinity) != 0
    flags = [flag for flag in flags_of(opt) if flag != "energy"]  # energies are computed, and change nothing
    joint, spring, sprung = model.actuator_trnid[:, 0], model.qpos_spring, model.jnt_stiffness != 0
    simple = np.isin(model.jnt_type, [mujoco.mjtJoint.mjJNT_HINGE.value, mujoco.mjtJoint.mjJNT_SLIDE.value])
    on_joint = model.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT.value
    solrefs = (model.geom_solref[solid], model.jnt_solref, model.eq_solref)
    affine = [mujoco.mjtBias.mjBIAS_NONE.value, mujoco.mjtBias.mjBIAS_AFFINE.value]
    lacking = {
        f"integrator {mujoco.mjtIntegrator(opt.integrator).name}": opt.integrator not in _CHOICES["integrator"][1],
        f"solver {mujoco.mjtSolver(opt.solver).name}": opt.solver not in _CHOICES["solver"][1],
        f"solver flags {', '.join(flags)}": flags,
        "settings of convex collision detection": opt.ccd_iterations != 35 or opt.ccd_tolerance != 1e-6,
        "noslip iterations with elliptic cones": opt.noslip_iterations and opt.cone != mujoco.mjtCone.mjCONE_PYRAMIDAL,
        "fluid forces": opt.density or opt.viscosity,
        "tendons": model.ntendon,
        "mocap bodies": model.nmocap,
        "flexible bodies": model.nflex,
        "contact pairs": model.npair,
        "plugins": model.nplugin,
        "gravity compensation": model.ngravcomp,
        "contact margins": model.geom_margin[solid].any() or model.geom_gap[solid].any(),
        "contact priorities": model.geom_priority[solid].any() or (model.geom_solmix[solid] != 1).any(),
        "frictionless contacts": (model.geom_condim[solid] == 1).any(),
        "direct solref": any((solref < 0).any() for solref in solrefs),
        "collision of other shapes than primitives and height fields": set(model.geom_type[solid]) - set(_SHAPES),
        "height fields that move, turn or have oblong cells": not _flat_hfields(model),
        "equality constraints that are switched off": not model.eq_active0.all(),
        "limits of ball joints": (model.jnt_limited.astype(bool) & ~simple).any(),
        "joint margins": model.jnt_margin.any(),
        "springs at rest elsewhere than the reference": (spring != model.qpos0)[model.jnt_qposadr[sprung]].any(),
        "nonlinear damping or stiffness": model.dof_dampingpoly.any() or model.jnt_stiffnesspoly.any(),
        "force limits of joints": model.jnt_actfrclimited.any(),
        "actuators of other things than hinges and slides": not on_joint.all() or not simple[joint[on_joint]].all(),
        "several actuators of one joint": len(set(joint.tolist())) < len(joint),
        "actuator dynamics": model.na or model.actuator_damping.any() or model.actuator_armature.any(),
        "nonlinear actuators": model.actuator_gaintype.any() or not np.isin(model.actuator_biastype, affine).all(),
    }
    if missing := [feature for feature, used in lacking.items() if used]:
        raise UserError(f"engine 'genesis' cannot simulate this scene: it has no {', no '.join(missing)}")


def _start(device: str, num_envs: int) -> None:
    """Initialise Genesis, once per process."""
    backend = gs.cuda if device.startswith("cuda") else gs.cpu
    if not gs._initialized:
        wait = f"genesis: compiling kernels for {num_envs} worlds (a minute or two the first time, then cached)…"
        print(wait, file=sys.stderr, flush=True)
        # Genesis's warnings are about meshes for pictures. What matters here is compared after the build.
        gs.init(backend=backend, precision="32", logging_level=logging.ERROR)
    elif gs.backend != backend:
        raise UserError(f"engine 'genesis' runs on {gs.backend.name} in this process, so it cannot run on {device}")


def _options(model: mujoco.MjModel) -> gs.options.RigidOptions:
    """MuJoCo's own settings; all that Genesis does differently by default is switched off."""
    opt, condim = model.opt, model.geom_condim.max(initial=3)
    options = {name: getattr(opt, name) for name in _SCALARS}
    options |= {field: table[getattr(opt, name)] for name, (field, table) in _CHOICES.items()}
    options["tolerance"] = max(opt.tolerance, FINEST_TOLERANCE)
    options |= {"enable_torsional_friction": bool(condim >= 4), "enable_rolling_friction": bool(condim >= 6)}
    options |= {"constraint_timeconst": None, "batch_links_info": True, "batch_dofs_info": True}
    # Without neutral collision, what touches in the default pose never collides.
    return gs.options.RigidOptions(**options, enable_mujoco_compatibility=True, enable_neutral_collision=True)


def _flat_hfields(model: mujoco.MjModel) -> bool:
    for i in np.flatnonzero(model.geom_type == _HFIELD):
        k, body = model.geom_dataid[i], model.geom_bodyid[i]
        cells = (model.hfield_size[k, :2] * 2) / (model.hfield_ncol[k] - 1, model.hfield_nrow[k] - 1)
        if body != 0 or abs(model.geom_quat[i, 0]) < 1 - 1e-9 or not np.isclose(*cells):
            return False
    return True


def _terrain(model: mujoco.MjModel, geom: int) -> gs.morphs.Terrain:
    """A height field. MuJoCo keeps rows along y and places its middle, Genesis rows along x and its corner."""
    k = model.geom_dataid[geom]
    rows, columns, start = model.hfield_nrow[k], model.hfield_ncol[k], model.hfield_adr[k]
    x, y, top, _ = model.hfield_size[k]
    heights = model.hfield_data[start : start + rows * columns].reshape(rows, columns).T * top
    step, corner = float(2 * x / (columns - 1)), tuple(model.geom_pos[geom] - (x, y, 0))
    return gs.morphs.Terrain(
        height_field=heights, horizontal_scale=step, vertical_scale=1.0, pos=corner, visualization=False
    )


def _find_geoms(model: mujoco.MjModel, links: list[Any], terrains: dict[int, Any]) -> tuple[list[int], list[int]]:
    """The geoms that can touch something, and Genesis's of each: by body, order and size, as equal ones share names."""
    solid = np.flatnonzero(model.geom_contype | model.geom_conaffinity).tolist()
    own = [iter(link.geoms) for link in links]
    found: list[Any] = [terrains[i].geoms[0] if i in terrains else next(own[model.geom_bodyid[i]], None) for i in solid]
    wrong = [f"'{model.geom(i).name}'" for i, geom in zip(solid, found, strict=True) if not _is_geom(model, i, geom)]
    extra = [f"one more of '{link.name}'" for link, geoms in zip(links, own, strict=True) for _ in geoms]
    if wrong or extra:
        raise UserError(f"engine 'genesis' has other geoms than the scene: {', '.join(wrong + extra)}")
    return solid, [geom.idx for geom in found]


def _is_geom(model: mujoco.MjModel, i: int, geom: Any) -> bool:
    """Whether Genesis's geom is what the compiled geom is."""
    kind, size = model.geom_type[i], model.geom_size[i]
    # Genesis sends pairs with a shape it does not take for convex another way, on which planes are not solid.
    if geom is None or kind == _HFIELD or not geom.is_convex:
        return geom is not None and kind == _HFIELD
    if kind == _PLANE:
        return True
    diameters = {_SPHERE: size[:1], _BOX: 2 * size}.get(kind, size[:2] * (1, 2))
    placed = np.allclose(geom.init_pos, model.geom_pos[i], atol=1e-6)
    turned = abs(np.dot(geom.init_quat, model.geom_quat[i])) > 1 - 1e-6
    return placed and turned and np.allclose(geom.data[: len(diameters)], diameters, rtol=1e-5)


def _in_order(kind: str, expected: tuple[str, ...], found: dict[str, Any]) -> list[Any]:
    """Genesis's parts in the scene's order, if it has exactly those."""
    if sorted(expected) != sorted(found):
        raise UserError(f"engine 'genesis' has {kind} {sorted(found)} instead of {sorted(expected)}")
    return [found[name] for name in expected]


def _set_collision_pairs(model: mujoco.MjModel, loaded: LoadedScene) -> None:
    """Leave exactly MuJoCo's pairs. Genesis has a rule of its own for fixed children, terrains and excluded bodies."""
    wanted = _collision_pairs(model, loaded.solid.tolist())
    index = dict(zip(loaded.geoms.tolist(), loaded.solid.tolist(), strict=True))
    pair_ids = gs.utils.misc.qd_to_torch(loaded.solver.collider.collider_info.collision_pair_idx, copy=False)
    for a, b in (pair_ids >= 0).nonzero().tolist():
        pair = frozenset((index[a], index[b]))
        if pair not in wanted:
            pair_ids[a, b] = -1
        wanted.discard(pair)
    if wanted:
        names = [" and ".join(sorted(model.geom(i).name for i in pair)) for pair in wanted]
        raise UserError(f"engine 'genesis' would let pass through each other: {', '.join(sorted(names))}")


def _collision_pairs(model: mujoco.MjModel, geoms: list[int]) -> set[frozenset[int]]:
    """Pairs that MuJoCo tests: masks match, bodies neither welded together, nor parent and child, nor excluded."""
    weld = model.body_weldid
    parent = weld[model.body_parentid[weld]]
    excluded = {frozenset((int(s) >> 16, int(s) & 0xFFFF)) for s in model.exclude_signature}
    pairs = set()
    for i, j in ((i, j) for k, i in enumerate(geoms) for j in geoms[k + 1 :]):
        match = model.geom_contype[i] & model.geom_conaffinity[j] or model.geom_contype[j] & model.geom_conaffinity[i]
        a, b = int(model.geom_bodyid[i]), int(model.geom_bodyid[j])
        moving = weld[a] != 0 and weld[b] != 0
        related = weld[a] == weld[b] or (moving and (weld[a] == parent[b] or weld[b] == parent[a]))
        if match and not related and frozenset((a, b)) not in excluded:
            pairs.add(frozenset((i, j)))
    return pairs
