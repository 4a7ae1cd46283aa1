"""Every engine has the same humanoid: 29 joints, eight spheres under its feet, limbs that feel each other."""

import torch

from genelab.experiment.paired import make_env
from genelab.experiment.sim2sim import contract
from genelab.scene.robots.g1 import motor_of
from genelab.tasks.velocity.g1 import flat


def test_the_humanoid_is_the_same_on_every_engine(engine_name: str) -> None:
    cfg = flat(play=True)
    cfg.num_envs, cfg.simulation.dt, cfg.decimation = 2, 0.02 / 3, 3
    cfg.observations["policy"].noise = False
    ours, theirs = (make_env(cfg, name, seed=0) for name in ("mujoco", engine_name))
    assert contract.differences(contract.contract_of(ours), contract.contract_of(theirs)) == []
    action = torch.zeros(2, 29)
    shoulder = ours.robot.joint_names.index("left_shoulder_roll_joint")
    action[1, shoulder] = -1.0 / motor_of("left_shoulder_roll_joint").action_scale  # an arm against the trunk
    for _ in range(12):
        ours.step(action)
        theirs.step(action)
    torch.testing.assert_close(theirs.robot.joint_pos, ours.robot.joint_pos, atol=1e-3, rtol=0.0)
    for sensor in ("feet", "self"):
        forces, expected = theirs.sensors[sensor].data.force, ours.sensors[sensor].data.force
        torch.testing.assert_close(forces, expected, atol=2.0, rtol=0.02)
    assert ours.sensors["self"].data.in_contact.tolist() == [[False] * 4, [False, False, True, False]]
    ours.close()
    theirs.close()
