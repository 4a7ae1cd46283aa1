"""One world as MJCF: robots, objects, ground and sensors, compiled once for every engine."""

from genelab.core.graphics import import_mujoco

import_mujoco()
