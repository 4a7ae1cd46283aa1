# ruff: noqa: F403
"""The term library: plain functions of the environment, and a few small classes."""

from genelab.envs.goal import goal_reward as goal_reward
from genelab.mdp.actions import *
from genelab.mdp.cartesian import *
from genelab.mdp.commands import *
from genelab.mdp.curriculum import *
from genelab.mdp.events import *
from genelab.mdp.humanoid import *
from genelab.mdp.locomotion import *
from genelab.mdp.manipulation import *
from genelab.mdp.metrics import *
from genelab.mdp.observations import *
from genelab.mdp.randomize import *
from genelab.mdp.rewards import *
from genelab.mdp.shaping import *
from genelab.mdp.terminations import *
from genelab.mdp.tolerance import *
