"""The step loop and its managers: actions, commands, events, rewards, terminations, observations."""

import types

from genelab.envs.cfg import ActionTermCfg as ActionTermCfg
from genelab.envs.cfg import CommandTermCfg as CommandTermCfg
from genelab.envs.cfg import CurriculumTermCfg as CurriculumTermCfg
from genelab.envs.cfg import DoneTermCfg as DoneTermCfg
from genelab.envs.cfg import EventTermCfg as EventTermCfg
from genelab.envs.cfg import GoalCfg as GoalCfg
from genelab.envs.cfg import ManagerBasedEnvCfg as ManagerBasedEnvCfg
from genelab.envs.cfg import ManagerBasedRlEnvCfg as ManagerBasedRlEnvCfg
from genelab.envs.cfg import MetricTermCfg as MetricTermCfg
from genelab.envs.cfg import ObservationGroupCfg as ObservationGroupCfg
from genelab.envs.cfg import ObservationTermCfg as ObservationTermCfg
from genelab.envs.cfg import RampCfg as RampCfg
from genelab.envs.cfg import RewardTermCfg as RewardTermCfg
from genelab.envs.cfg import SimulationCfg as SimulationCfg
from genelab.envs.cfg import SuccessTermCfg as SuccessTermCfg
from genelab.envs.cfg import TermCfg as TermCfg
from genelab.envs.entity import Entity as Entity
from genelab.envs.entity import index_of as index_of
from genelab.envs.env import ManagerBasedEnv as ManagerBasedEnv
from genelab.envs.env import ManagerBasedRlEnv as ManagerBasedRlEnv
from genelab.envs.managers import ActionTerm as ActionTerm
from genelab.envs.managers import CommandTerm as CommandTerm
from genelab.envs.terms import BodyRef as BodyRef
from genelab.envs.terms import BodyRefs as BodyRefs
from genelab.envs.terms import ContactRef as ContactRef
from genelab.envs.terms import EntityRef as EntityRef
from genelab.envs.terms import JointRef as JointRef
from genelab.envs.terms import JointRefs as JointRefs
from genelab.envs.terms import SensorRef as SensorRef
from genelab.envs.terms import SiteRefs as SiteRefs
from genelab.envs.terms import StatefulTerm as StatefulTerm
from genelab.envs.terms import find_entity as find_entity
from genelab.envs.terms import match_joints as match_joints
from genelab.envs.terms import match_names as match_names
from genelab.envs.terms import owner_of as owner_of

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    name for name, value in globals().items() if not name.startswith("_") and not isinstance(value, types.ModuleType)
]
