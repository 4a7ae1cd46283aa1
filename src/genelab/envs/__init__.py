"""The step loop and its managers."""

from genelab.envs.cfg import (
    ActionTermCfg,
    CommandTermCfg,
    CurriculumTermCfg,
    DoneTermCfg,
    EventTermCfg,
    GoalCfg,
    ManagerBasedEnvCfg,
    ManagerBasedRlEnvCfg,
    MetricTermCfg,
    ObservationGroupCfg,
    ObservationTermCfg,
    RampCfg,
    RewardTermCfg,
    SimulationCfg,
    SuccessTermCfg,
    TermCfg,
)
from genelab.envs.entity import Entity
from genelab.envs.env import ManagerBasedEnv, ManagerBasedRlEnv
from genelab.envs.managers import ActionTerm, CommandTerm
from genelab.envs.terms import BodyRef, BodyRefs, EntityRef, JointRef, JointRefs, SensorRefs, SiteRefs, StatefulTerm

__all__ = [
    "ActionTerm",
    "ActionTermCfg",
    "BodyRef",
    "BodyRefs",
    "CommandTerm",
    "CommandTermCfg",
    "CurriculumTermCfg",
    "DoneTermCfg",
    "Entity",
    "EntityRef",
    "EventTermCfg",
    "GoalCfg",
    "JointRef",
    "JointRefs",
    "ManagerBasedEnv",
    "ManagerBasedEnvCfg",
    "ManagerBasedRlEnv",
    "ManagerBasedRlEnvCfg",
    "MetricTermCfg",
    "ObservationGroupCfg",
    "ObservationTermCfg",
    "RampCfg",
    "RewardTermCfg",
    "SensorRefs",
    "SimulationCfg",
    "SiteRefs",
    "StatefulTerm",
    "SuccessTermCfg",
    "TermCfg",
]
