"""genelab: define a robot-learning task once, train and check it on several physics engines and RL libraries."""

import importlib
import os
from typing import Any

from genelab.core.gym_ids import register_when_imported

# Torch's worker threads would otherwise spin for long after each operation and take the cores from the physics
# threads; without any spinning, updates of small networks wait for threads to wake. A short spin serves both: a
# quarter of the training time on two cores. Has an effect only if torch has not been imported yet.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("GOMP_SPINCOUNT", "20000")

__version__ = "0.1.0"

_PUBLIC = {
    "genelab.core.errors": "UserError",
    "genelab.core.registry": "TaskSpec find register",
    "genelab.envs": (
        "ActionTerm ActionTermCfg BodyRef BodyRefs CommandTerm CommandTermCfg ContactRef CurriculumTermCfg "
        "DoneTermCfg Entity EntityRef EventTermCfg GoalCfg JointRef JointRefs ManagerBasedEnv ManagerBasedEnvCfg "
        "ManagerBasedRlEnv ManagerBasedRlEnvCfg MetricTermCfg ObservationGroupCfg ObservationTermCfg RampCfg "
        "RewardTermCfg SensorRef SimulationCfg SiteRefs StatefulTerm SuccessTermCfg index_of match_joints owner_of"
    ),
    "genelab.engines.pictures": "Arrow Ball",
    "genelab.experiment.report": "RunReport",
    "genelab.rl.cfg": "RslRlDistributionCfg RslRlModelCfg RslRlOnPolicyRunnerCfg RslRlPpoCfg Sb3AgentCfg SkrlAgentCfg",
    "genelab.sensors": "ArraySensor ContactSensorCfg HeightScanCfg RaySensorCfg Sensor SensorCfg SensorHost",
    "genelab.sensors.rays": "ring",
    "genelab.scene.scene": "EntityCfg GroundCfg SceneCfg",
}
"""Public names by the module they live in. They are imported on first use, so that ``import genelab`` stays light."""

_HOME = {name: module for module, names in _PUBLIC.items() for name in names.split()}
__all__ = sorted(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'genelab' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])


register_when_imported()
