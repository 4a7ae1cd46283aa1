"""Managers own the named terms of an environment. Each has one job in the step loop."""

from genelab.envs.managers.action import ActionManager as ActionManager
from genelab.envs.managers.action import ActionTerm as ActionTerm
from genelab.envs.managers.command import CommandManager as CommandManager
from genelab.envs.managers.command import CommandTerm as CommandTerm
from genelab.envs.managers.event import CurriculumManager as CurriculumManager
from genelab.envs.managers.event import EventManager as EventManager
from genelab.envs.managers.observation import ObservationManager as ObservationManager
from genelab.envs.managers.outcome import MetricsManager as MetricsManager
from genelab.envs.managers.outcome import RewardManager as RewardManager
from genelab.envs.managers.outcome import TerminationManager as TerminationManager
