"""RL libraries by name: one table that points at learners. Nothing heavy is imported until one is used."""

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from genelab.core.config import CLASS_KEY
from genelab.core.errors import RunStopped, UserError, about, reason
from genelab.core.overrides import validate
from genelab.core.registry import Component, find_installed, load
from genelab.core.run_files import STATE_FILE
from genelab.core.stored_config import from_dict

if TYPE_CHECKING:
    from genelab.envs import ManagerBasedRlEnv
    from genelab.rl.backends.base import Hooks, Policy, TrainingRun, TrainResult
    from genelab.rl.checkpoint import WarmStart
    from genelab.rl.loop import Learner


@dataclass(frozen=True, kw_only=True)
class Backend(Component):
    """An RL library, its learner, and the agent config that selects it."""

    agent_cfg: str
    """``"module:Class"``."""


_SUMMARIES = {
    "rsl_rl": "PPO and SPO, with MLP, LSTM, GRU and convolutional policies",
    "skrl": "PPO, A2C, SAC, TD3, DDPG, with an asymmetric critic",
    "sb3": "PPO, A2C, SAC, TD3, DDPG, with HER and demonstrations",
}
BACKENDS = {
    name: Backend(
        name=name,
        target=f"genelab.rl.{name}.learner:{learner}",
        agent_cfg=f"genelab.rl.cfg:{agent_cfg}",
        requires=module,
        install=f"pip install {package}",
        summary=_SUMMARIES[name],
    )
    for name, learner, agent_cfg, module, package in (
        ("rsl_rl", "RslRlLearner", "RslRlOnPolicyRunnerCfg", "rsl_rl", "genelab"),
        ("skrl", "SkrlLearner", "SkrlAgentCfg", "skrl", "genelab[skrl]"),
        ("sb3", "Sb3Learner", "Sb3AgentCfg", "stable_baselines3", "genelab[sb3]"),
    )
}


def backend_of(agent_cfg: Any) -> Backend:
    """The backend that an agent config's type selects."""
    for backend in BACKENDS.values():
        if isinstance(agent_cfg, load(backend.agent_cfg)):
            return backend
    raise UserError(f"no backend trains a {type(agent_cfg).__name__}")


def unit_of(backend: str | None) -> str:
    """What the iterations of a run are counted in: ``iteration``, or ``step`` of the environments."""
    return load(BACKENDS[backend].agent_cfg).unit if backend in BACKENDS else "iteration"


def stored_agent_cfg(data: Any) -> Any:
    if not isinstance(data, dict) or CLASS_KEY not in data:
        raise UserError("it is no agent config: it does not say its class")
    agent_cfg = from_dict(Any, data, "agent")
    backend_of(agent_cfg)
    validate({"agent": agent_cfg})
    return agent_cfg


def learner_class(agent_cfg: Any) -> "type[Learner]":
    """The learner of an agent config, if its library is installed."""
    return load(find_installed("backend", backend_of(agent_cfg).name, BACKENDS).target)


def make_learner(env: "ManagerBasedRlEnv", agent_cfg: Any, *more: Any) -> "Learner":
    """What trains, as it is before a training; `more` is what learners are made with."""
    import numpy as np
    import torch

    from genelab.core.rng import derive_seed

    env.require_auto_reset("training")
    # The libraries draw weights, actions and minibatches from the global generators. Their states are saved.
    seed = derive_seed(agent_cfg.seed, "learner")
    torch.manual_seed(seed)
    np.random.seed(seed % 2**32)
    return learner_class(agent_cfg).in_training(agent_cfg)(env, agent_cfg, *more)


def train(
    env: "ManagerBasedRlEnv",
    agent_cfg: Any,
    run: "TrainingRun",
    infos: dict[str, Any],
    hooks: "Hooks",
    warm_start: "WarmStart | None" = None,
) -> "TrainResult":
    """Train to the end of the budget, from the run's state if there is one. `infos` goes into every checkpoint."""
    with closing(make_learner(env, agent_cfg, infos, hooks)) as learner:
        state = run.load_state()
        if state is not None:
            path = run.directory / STATE_FILE
            try:
                with about(path):
                    learner.load_state(state)
            except (UserError, RunStopped):
                raise
            except Exception as error:  # its structure can be wrong in any way
                raise UserError(f"'{path}' is not the state of this run: {reason(error)}") from error
        else:
            if warm_start is not None:
                learner.begin_with(warm_start)
                learner.require_finite_networks()
            learner.start()
            run.save_state(learner.state())  # a disk without room for it is found before hours of training
        return learner.learn_in(run)


def load_policy(env: "ManagerBasedRlEnv", agent_cfg: Any, checkpoint: dict[str, Any]) -> "Policy":
    """The policy of a checkpoint, for the observations of `env`. A `RunStopped` if its weights are not finite."""
    import torch

    from genelab.core.tensors import require_finite_weights

    with torch.random.fork_rng():
        learner = learner_class(agent_cfg)(env, agent_cfg, {}, training=False)
    learner.load_checkpoint(checkpoint, weights_only=True)
    policy = learner.trained_policy()
    require_finite_weights(policy.deployed)
    return policy
