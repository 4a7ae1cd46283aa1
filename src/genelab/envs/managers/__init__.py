"""Managers own the named terms of an environment. Each has one job in the step loop."""

from genelab.envs.managers.action import ActionManager, ActionTerm
from genelab.envs.managers.command import CommandManager, CommandTerm
from genelab.envs.managers.curriculum import CurriculumManager
from genelab.envs.managers.event import EventManager
from genelab.envs.managers.metrics import MetricsManager
from genelab.envs.managers.observation import ObservationManager
from genelab.envs.managers.reward import RewardManager
from genelab.envs.managers.termination import TerminationManager

__all__ = [
    "ActionManager",
    "ActionTerm",
    "CommandManager",
    "CommandTerm",
    "CurriculumManager",
    "EventManager",
    "MetricsManager",
    "ObservationManager",
    "RewardManager",
    "TerminationManager",
]
