"""MuJoCo Warp finds contacts between boxes or cylinders and height fields that point downwards through the whole shape.

    python docs/upstream/mujoco_warp_hfield.py [box cylinder capsule sphere]

A level shape is put on a flat height field at random places and yaw angles, a little tilted, up to 10 mm deep. Every
contact should point up and be about as deep as that. Where a shape covers only a sliver of a cell, the penetration of
that cell's prism is now and then found along -z: about 0.2 m deep, the height of the shape. Such a contact pushes the
shape down, and in a simulation it falls through. MuJoCo's own C code is counted beside it.
"""

import sys

import mujoco
import mujoco_warp as mjw
import numpy as np
import warp as wp

POSES, COMPARED = 2000, 200
SIZES = {"box": ".1 .1 .1", "cylinder": ".1 .1", "capsule": ".1 .1", "sphere": ".1"}
LYING = {"capsule": "1 0 0"}
SCENE = """<mujoco><asset><hfield name="flat" nrow="21" ncol="21" size="1 1 .3 .1"/></asset><worldbody>
<geom type="hfield" hfield="flat"/>
<body><freejoint/><geom type="{shape}" size="{size}" mass="2" zaxis="{axis}"/></body></worldbody></mujoco>"""


def poses(tilt: float) -> np.ndarray:
    """(POSES, 7) places and turns of a shape whose lowest points are 0.1 to 10 mm below the ground if it is level."""
    draw = np.random.default_rng(0)
    qpos = np.zeros((POSES, 7))
    qpos[:, :2] = draw.uniform(-0.5, 0.5, (POSES, 2))
    qpos[:, 2] = 0.1 - draw.uniform(1e-4, 1e-2, POSES)
    angles = draw.uniform(-1.0, 1.0, (POSES, 3)) * (tilt, tilt, 3.0)
    for row, angle in zip(qpos, angles, strict=True):
        mujoco.mju_euler2Quat(row[3:], angle, "XYZ")
    return qpos


def wrong(dist: np.ndarray, up: np.ndarray) -> np.ndarray:
    """Which contacts are much deeper than the shape was put, or point down."""
    return (dist < -0.08) | (up < -0.1)


def main() -> None:
    print(f"mujoco {mujoco.__version__}, mujoco_warp {mjw.__version__}")
    for shape in sys.argv[1:] or SIZES:
        scene = SCENE.format(shape=shape, size=SIZES[shape], axis=LYING.get(shape, "0 0 1"))
        model = mujoco.MjModel.from_xml_string(scene)
        data = mujoco.MjData(model)
        for tilt in (0.0, 1e-3):
            qpos, exact = poses(tilt), 0
            for row in qpos[:COMPARED]:
                data.qpos[:] = row
                mujoco.mj_forward(model, data)
                exact += bool(wrong(data.contact.dist, data.contact.frame[:, 2]).any())
            with wp.ScopedDevice("cpu"):
                warp_model = mjw.put_model(model)
                worlds = mjw.make_data(model, nworld=POSES, nconmax=20, njmax=100)
                worlds.qpos.assign(qpos.astype(np.float32))
                mjw.kinematics(warp_model, worlds)
                mjw.collision(warp_model, worlds)
                count = int(worlds.nacon.numpy()[0])
                dist, frame = worlds.contact.dist.numpy()[:count], worlds.contact.frame.numpy()[:count]
                found = wrong(dist, frame[:, 0, 2])
                poses_with = len(np.unique(worlds.contact.worldid.numpy()[:count][found]))
            print(
                f"{shape}, tilted up to {tilt:g} rad: wrong contacts in {poses_with} of {POSES} poses, "
                f"the deepest {-dist.min():.3f} m; MuJoCo in C: {exact} of {COMPARED}"
            )


if __name__ == "__main__":
    main()
