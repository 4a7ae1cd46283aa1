"""The bundled robots, by name only."""

ROBOTS = {
    "cartpole": ("genelab.scene.robots.cartpole:single_pole", "cart on a rail with one pole, 1 actuator"),
    "double_cartpole": ("genelab.scene.robots.cartpole:double_pole", "cart on a rail with two poles, 1 actuator"),
    "g1": ("genelab.scene.robots.g1:g1", "Unitree G1, humanoid, 29 actuators"),
    "go1": ("genelab.scene.robots.go1:go1", "Unitree Go1, quadruped, 12 actuators"),
    "panda": ("genelab.scene.robots.panda:panda", "Franka Emika Panda with its hand, 9 actuators"),
}
"""Robot name to its ``"module:function"`` and a summary."""
