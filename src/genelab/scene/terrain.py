"""Terrain: a grid of cells, harder row by row, as one height field that every engine shares.

Rows (levels) follow each other along x and columns along y, around the world's origin. All cells meet at height zero
and have a flat middle, where robots start; a flat border surrounds the grid.
"""

from dataclasses import dataclass, field

import mujoco
import numpy as np
import torch
from torch import Tensor

from genelab.core.errors import UserError, unknown
from genelab.core.overrides import at_least
from genelab.core.rng import derive_seed
from genelab.scene.terrain_shapes import SHAPES, SIZES, Square, size_name

MIXED = (*("stairs_up", "stairs_down", "boxes", "rough") * 2, "slope_up", "slope_down")
