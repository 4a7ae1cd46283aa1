# ruff: noqa: F403
"""Managers own the named terms of an environment. Each has one job in the step loop."""

from genelab.envs.managers.action import *
from genelab.envs.managers.command import *
from genelab.envs.managers.event import *
from genelab.envs.managers.observation import *
from genelab.envs.managers.outcome import *
