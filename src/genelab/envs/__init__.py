# ruff: noqa: F403
"""The step loop and its managers: actions, commands, events, rewards, terminations, observations."""

from genelab.envs.cfg import *
from genelab.envs.entity import *
from genelab.envs.env import ManagerBasedEnv as ManagerBasedEnv
from genelab.envs.env import ManagerBasedRlEnv as ManagerBasedRlEnv
from genelab.envs.managers import ActionTerm as ActionTerm
from genelab.envs.managers import CommandTerm as CommandTerm
from genelab.envs.terms import *

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    name for name, value in globals().items() if getattr(value, "__module__", "").startswith(f"{__name__}.")
]
