"""Genesis splits the cells of a terrain along the other diagonal than MuJoCo splits those of a height field.

    python docs/upstream/genesis_terrain.py

A ball comes to rest on the middle of one cell that has a single corner raised. The two triangulations of the cell
differ there by half the height of the corner; so do the heights of the balls.
"""

import tempfile

import genesis as gs
import mujoco
import numpy as np

RAISED, CELL, RADIUS = 0.04, 1.0, 0.02
SCENE = """<mujoco><option timestep=".005"/><asset>
<hfield name="cell" nrow="2" ncol="2" size="{half} {half} {top} .1"/></asset><worldbody>
<geom type="hfield" hfield="cell"/><body pos="0 0 .08"><joint type="slide" axis="0 0 1"/>
<geom type="sphere" size="{radius}" mass=".1"/></body></worldbody></mujoco>"""


def mujoco_height() -> float:
    """Where a ball that can only move up and down comes to rest in MuJoCo, metres."""
    scene = SCENE.format(half=CELL / 2, top=RAISED, radius=RADIUS)
    model = mujoco.MjModel.from_xml_string(scene)
    model.hfield_data[:] = (0, 0, 0, 1)  # rows along y: raised at +x, +y
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 400)
    return 0.08 + float(data.qpos[0])


def genesis_height() -> float:
    """The same in Genesis, with the terrain from its corner."""
    gs.init(backend=gs.cpu, logging_level="error")
    scene = gs.Scene(sim_options=gs.options.SimOptions(dt=0.005), show_viewer=False)
    heights = np.array([[0.0, 0.0], [0.0, RAISED]])  # rows along x: raised at +x, +y
    place = (-CELL / 2, -CELL / 2, 0.0)
    scene.add_entity(gs.morphs.Terrain(height_field=heights, horizontal_scale=CELL, vertical_scale=1.0, pos=place))
    ball = mujoco.MjSpec()
    body = ball.worldbody.add_body(name="ball", pos=[0, 0, 0.08])
    body.add_joint(name="slide", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[0, 0, 1])
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[RADIUS, 0, 0], mass=0.1)
    ball.compile()
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
        file.write(ball.to_xml())
        file.flush()
        entity = scene.add_entity(gs.morphs.MJCF(file=file.name))
    scene.build()
    for _ in range(400):
        scene.step()
    return float(entity.get_link("ball").get_pos()[2])


def main() -> None:
    ours, theirs = mujoco_height(), genesis_height()
    print(f"mujoco {mujoco.__version__}: the ball rests at {1e3 * ours:.1f} mm")
    print(f"genesis {gs.__version__}: the ball rests at {1e3 * theirs:.1f} mm, {1e3 * (theirs - ours):+.1f} mm")


if __name__ == "__main__":
    main()
