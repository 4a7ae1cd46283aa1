"""Configs go to JSON and come back equal."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from genelab.core.config import CLASS_KEY, digest, to_dict
from genelab.core.errors import UserError
from genelab.core.registry import TaskSpec, tasks
from genelab.core.stored_config import from_dict
from genelab.envs import ManagerBasedRlEnvCfg, RewardTermCfg
from genelab.rl.cfg import RslRlModelCfg, RslRlOnPolicyRunnerCfg

TASKS = sorted(tasks())


def every_config() -> list[Any]:
    """(name, config) of the training, play and agent configs of every task."""
    found = []
    for task_id, spec in tasks().items():
        found.append(pytest.param(spec.env_cfg(play=False), id=f"{task_id}-train"))
        found.append(pytest.param(spec.env_cfg(play=True), id=f"{task_id}-play"))
        found += [pytest.param(spec.agent_cfg(backend), id=f"{task_id}-{backend}") for backend in spec.agents]
    return found


def square(x: float) -> float:
    return x * x


@dataclass
class Shape:
    name: str = "shape"


@dataclass
class Circle(Shape):
    radius: float = 1.0


@dataclass
class Drawing:
    main: Shape = field(default_factory=Shape)
    parts: dict[str, Shape] = field(default_factory=dict)
    row: tuple[Shape, ...] = ()
    transform: Any = None


@pytest.fixture(autouse=True)
def these_classes_may_be_named_by_files(offer: Callable[[TaskSpec], None]) -> None:
    offer(TaskSpec(id="Drawing-v0", summary="", env=f"{__name__}:Drawing"))


@pytest.mark.parametrize("cfg", every_config())
def test_every_config_survives_the_round_trip_through_json(cfg: Any) -> None:
    text = json.dumps(to_dict(cfg))
    assert from_dict(type(cfg), json.loads(text)) == cfg


@pytest.mark.parametrize("cfg", every_config())
def test_a_stored_config_can_be_rebuilt_without_knowing_its_class(cfg: Any) -> None:
    back = from_dict(Any, json.loads(json.dumps(to_dict(cfg))))
    assert type(back) is type(cfg)
    assert back == cfg


@pytest.mark.parametrize("cfg", every_config())
def test_every_config_has_the_same_json_after_a_round_trip(cfg: Any) -> None:
    assert to_dict(from_dict(Any, to_dict(cfg))) == to_dict(cfg)


@pytest.mark.parametrize("task_id", TASKS)
def test_equal_configs_have_equal_digests(task_id: str) -> None:
    spec = tasks()[task_id]
    assert digest(spec.env_cfg()) == digest(spec.env_cfg())
    assert digest(from_dict(Any, to_dict(spec.env_cfg()))) == digest(spec.env_cfg())


def test_a_changed_value_changes_the_digest() -> None:
    cfg = RslRlOnPolicyRunnerCfg()
    before = digest(cfg)
    cfg.algorithm.gamma = 0.98
    assert digest(cfg) != before


def test_the_training_and_the_play_config_of_a_task_have_different_digests() -> None:
    spec = tasks()["GeneLab-Inverted-Pendulum-v0"]
    assert digest(spec.env_cfg(play=False)) != digest(spec.env_cfg(play=True))


def test_the_order_of_a_dict_does_not_change_the_digest() -> None:
    one = Drawing(parts={"a": Shape("a"), "b": Shape("b")})
    other = Drawing(parts={"b": Shape("b"), "a": Shape("a")})
    assert digest(one) == digest(other)


def test_a_subclass_in_place_of_the_declared_class_is_tagged_with_its_class() -> None:
    data = to_dict(Drawing(main=Circle(radius=2.0)))
    assert data["main"][CLASS_KEY] == f"{__name__}:Circle"
    assert from_dict(Drawing, data).main == Circle(radius=2.0)


def test_the_declared_class_needs_no_tag() -> None:
    assert CLASS_KEY not in to_dict(Drawing())["main"]


def test_subclasses_in_dicts_and_tuples_come_back_as_subclasses() -> None:
    drawing = Drawing(parts={"wheel": Circle("wheel", 3.0), "box": Shape("box")}, row=(Circle("dot", 0.1), Shape()))
    assert from_dict(Any, json.loads(json.dumps(to_dict(drawing)))) == drawing


def test_action_terms_are_stored_with_their_class() -> None:
    cfg = tasks()["GeneLab-Inverted-Pendulum-v0"].env_cfg()
    assert to_dict(cfg)["actions"]["cart"][CLASS_KEY].endswith(":JointPositionActionCfg")


def test_a_function_is_stored_by_the_name_of_its_module_and_its_own() -> None:
    cfg = tasks()["GeneLab-Inverted-Pendulum-v0"].env_cfg()
    assert to_dict(cfg)["rewards"]["alive"]["func"] == "genelab.mdp.rewards:alive"


def test_a_lambda_cannot_be_stored() -> None:
    with pytest.raises(UserError, match="module level"):
        to_dict(RewardTermCfg(lambda env: 0.0, weight=1.0))


def test_a_function_inside_a_function_cannot_be_stored() -> None:
    def local(env: Any) -> float:
        return 0.0

    with pytest.raises(UserError, match="module level"):
        to_dict(RewardTermCfg(local, weight=1.0))


def test_a_module_level_function_can_be_stored() -> None:
    assert to_dict(Drawing(transform=square))["transform"] == f"{__name__}:square"


def test_an_object_that_is_no_config_cannot_be_stored() -> None:
    with pytest.raises(UserError, match="cannot hold"):
        to_dict(Drawing(transform=object()))


def test_a_field_that_the_class_does_not_have_is_an_error_that_names_it() -> None:
    data = to_dict(RslRlModelCfg(), RslRlModelCfg)
    with pytest.raises(UserError, match="RslRlModelCfg has no field 'hidden_dimz'"):
        from_dict(RslRlModelCfg, {**data, "hidden_dimz": [1]})


def test_a_class_that_cannot_be_loaded_is_an_error_that_names_it() -> None:
    with pytest.raises(UserError, match="nowhere:Nothing"):
        from_dict(Any, {CLASS_KEY: "nowhere:Nothing"})


def test_a_class_that_is_no_config_is_an_error() -> None:
    with pytest.raises(UserError, match="not a config class"):
        from_dict(Any, {CLASS_KEY: "genelab.envs.entity:Entity"})


def test_lists_come_back_as_tuples() -> None:
    cfg = from_dict(RslRlModelCfg, {"hidden_dims": [32, 16]})
    assert cfg.hidden_dims == (32, 16)


def test_a_whole_number_comes_back_as_float_where_a_float_is_declared() -> None:
    cfg = tasks()["GeneLab-Inverted-Pendulum-v0"].env_cfg()
    data = to_dict(cfg, ManagerBasedRlEnvCfg)
    data["episode_length_s"] = 10
    assert isinstance(from_dict(ManagerBasedRlEnvCfg, data).episode_length_s, float)
