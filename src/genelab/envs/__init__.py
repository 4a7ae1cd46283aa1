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
    RewardTermCfg,
    SimulationCfg,
    SuccessTermCfg,
    TermCfg,
)
from genelab.envs.env import ManagerBasedEnv, ManagerBasedRlEnv
from genelab.envs.terms import BodyRef, BodyRefs, JointRef, JointRefs, SensorRefs, SiteRefs, StatefulTerm

__all__ = [
    "ActionTermCfg",
    "BodyRef",
    "BodyRefs",
    "CommandTermCfg",
    "CurriculumTermCfg",
    "DoneTermCfg",
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
    "RewardTermCfg",
    "SensorRefs",
    "SimulationCfg",
    "SiteRefs",
    "StatefulTerm",
    "SuccessTermCfg",
    "TermCfg",
]
