"""Record the motion of the hand: python docs/record_hand.py

Servos take the hand of GeneLab-Wuji-Hand-Playback-v0 from pose to pose, and its joint positions are written to
src/genelab/tasks/playback/hand_motion.csv, which the task plays.
"""

from pathlib import Path

import torch

from genelab.envs import ManagerBasedEnv
from genelab.tasks.playback import hand

FINGERS = ("thumb", "index", "middle", "ring", "little")
JOINTS = ("spread", "knuckle", "middle", "tip")
OPEN = dict.fromkeys(FINGERS, (0.0, 0.0, 0.0, 0.0))
BENT = dict.fromkeys(FINGERS[1:], (0.0, 1.45, 1.55, 1.1))
FIST = {**BENT, "thumb": (0.0, 0.62, 0.9, 0.8)}
FAN = {"thumb": (0.1, -0.2, 0.0, 0.0), "index": (-0.25, 0.0, 0.0, 0.0), "middle": (-0.07, 0.0, 0.0, 0.0)}
FAN |= {"ring": (0.12, 0.0, 0.0, 0.0), "little": (0.3, 0.0, 0.0, 0.0)}
TOUCH = {
    "index": ((-0.23, 0.46, 0.55, 0.35), (0.1, 0.97, 1.01, 0.6)),
    "middle": ((-0.05, 0.6, 0.57, 0.4), (0.01, 1.08, 0.98, 0.61)),
    "ring": ((0.11, 0.8, 0.65, 0.46), (-0.06, 1.14, 1.04, 0.62)),
    "little": ((0.17, 1.1, 0.74, 0.46), (0.03, 1.39, 1.0, 0.53)),
}
"""Of the thumb, and of the finger whose tip it meets."""


def poses() -> list[tuple[float, dict[str, tuple[float, ...]]]]:
    """Seconds to get to a pose and stay there, and the pose: count to five, touch every finger, wave, make a fist."""
    counted = [{**FIST, **{name: FAN[name] for name in FINGERS[1 : 1 + n]}} for n in range(1, 5)]
    touching = [{**OPEN, "thumb": thumb, name: finger} for name, (thumb, finger) in TOUCH.items()]
    waves = [{**OPEN, name: (0.0, 0.9, 0.6, 0.3)} for name in FINGERS[:0:-1]]
    return [
        *((0.5, OPEN), (0.8, FIST)),
        *((0.6, pose) for pose in counted),
        *((0.7, FAN), (0.6, OPEN)),
        *((0.7, pose) for pose in touching),
        (0.5, OPEN),
        *((0.2, pose) for pose in (*waves, *waves)),
        *((0.5, FAN), (0.7, FIST), (0.5, {**FIST, "thumb": (0.2, -0.25, 0.0, 0.0)}), (0.9, OPEN), (0.5, OPEN)),
    ]


def main() -> None:
    cfg = hand.wuji_hand()
    cfg.playback = None
    env = ManagerBasedEnv(cfg)
    names = [f"{finger}_{joint}" for finger in FINGERS for joint in JOINTS]
    assert list(env.robot.joint_names) == names == list(env.robot.layout.actuated_joints)
    every, samples = round(1.0 / (hand.RATE * env.step_dt)), [env.robot.joint_pos[0].clone()]
    last = torch.zeros(len(names))
    for seconds, pose in poses():
        goal = torch.tensor([angle for finger in FINGERS for angle in pose[finger]])
        steps = round(seconds / env.step_dt / every) * every
        for step in range(1, steps + 1):
            part = min(1.0, 1.25 * step / steps)
            env.engine.ctrl[:] = torch.lerp(last, goal, part * part * (3.0 - 2.0 * part))
            env.play_step()
            if step % every == 0:
                samples.append(env.robot.joint_pos[0].clone())
        last = goal
    samples[-1] = samples[0]
    lines = [",".join(names), *(",".join(f"{value + 0.0:.3f}" for value in row.tolist()) for row in samples)]
    text = "\n".join(lines).replace("-0.000", "0.000") + "\n"
    (Path(hand.__file__).parent / "hand_motion.csv").write_text(text, encoding="utf-8")
    print(f"{len(samples)} samples, {(len(samples) - 1) / hand.RATE:g} s")


if __name__ == "__main__":
    main()
