"""Dotted overrides: every path of every task can be set, and nothing is silently ignored."""

import copy
import re
import string
import types
import typing
from typing import Any, Literal

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from genelab import mdp
from genelab.core.config import members, split
from genelab.core.errors import UserError
from genelab.core.overrides import Change, Leaf, apply, check_read, coerce, leaves, show, type_name
from genelab.core.registry import tasks
from genelab.envs import RampCfg, RewardTermCfg
from genelab.experiment.setup import resolve
from genelab.experiment.train import UNUSED_IN_TRAINING
from task_sample import LEARNT

TASK = "GeneLab-Inverted-Pendulum-v0"
NAME = st.text(string.ascii_lowercase + "_", min_size=1).filter(lambda word: word != "none")


def _roots(task_id: str, play: bool) -> dict[str, Any]:
    spec = tasks()[task_id]
    return {"env": spec.env_cfg(play=play), "agent": spec.agent_cfg()}


ROOTS = {(task_id, play): _roots(task_id, play) for task_id in LEARNT for play in (False, True)}
LEAVES = [(key, leaf) for key, roots in ROOTS.items() for leaf in leaves(roots)]
PATHS = {key: {leaf.path for leaf in leaves(roots)} for key, roots in ROOTS.items()}

any_leaf = st.sampled_from(LEAVES)
any_task = st.sampled_from(sorted(ROOTS))


def fresh(key: tuple[str, bool] = (TASK, False)) -> dict[str, Any]:
    """Configs of a task that a test may change."""
    return copy.deepcopy(ROOTS[key])


def value_at(roots: dict[str, Any], path: str) -> Any:
    return next(leaf.value for leaf in leaves(roots) if leaf.path == path)


def values_of(declared: Any) -> st.SearchStrategy[Any]:
    """Values that a field of type `declared` can hold, in its range or not."""
    declared, _ = split(declared)
    if len(members(declared)) > 1:
        return st.one_of([values_of(member) for member in members(declared) if _can_be_typed(member)])
    origin, arguments = typing.get_origin(declared), typing.get_args(declared)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple and arguments[-1] is Ellipsis:
        # one name alone is typed like a plain name, so lists of names have two or more
        return st.lists(values_of(arguments[0]), min_size=2 if arguments[0] is str else 0).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values_of, arguments))
    if isinstance(declared, typing.NewType):
        return NAME
    simple = {
        types.NoneType: st.none(),
        bool: st.booleans(),
        int: st.integers(),
        float: st.floats(allow_nan=False, allow_subnormal=False),  # which some libraries switch off for the process
        str: NAME,
    }
    return simple[declared]


def _can_be_typed(declared: Any) -> bool:
    return declared in (types.NoneType, bool, int, float, str) or typing.get_origin(declared) in (tuple, Literal)


def test_there_are_paths_in_both_trees_of_every_task() -> None:
    for paths in PATHS.values():
        assert any(path.startswith("env.") for path in paths)
        assert any(path.startswith("agent.") for path in paths)


@pytest.mark.parametrize("key", sorted(ROOTS), ids=lambda key: f"{key[0]}-{'play' if key[1] else 'train'}")
def test_setting_any_value_to_itself_as_a_user_would_type_it_changes_nothing(key: tuple[str, bool]) -> None:
    changed = []
    for leaf in leaves(ROOTS[key]):
        roots = fresh(key)
        (change,) = apply(roots, [(leaf.path, show(leaf.value))])
        same = change == Change(leaf.path, leaf.value, leaf.value) and type(change.new) is type(leaf.value)
        if not same or roots != ROOTS[key]:
            changed.append(change)
    assert not changed


@settings(max_examples=400, deadline=None)
@given(any_leaf, st.data())
def test_any_value_of_the_declared_type_can_be_set_at_any_path(
    found: tuple[tuple[str, bool], Leaf], data: st.DataObject
) -> None:
    key, leaf = found
    value = data.draw(values_of(leaf.type))
    roots = fresh(key)
    (change,) = apply(roots, [(leaf.path, show(value))])
    assert (change.path, change.old, change.new) == (leaf.path, leaf.value, value)
    assert value_at(roots, leaf.path) == value


@settings(max_examples=200, deadline=None)
@given(any_leaf, st.data())
def test_ready_values_are_accepted_like_typed_ones(found: tuple[tuple[str, bool], Leaf], data: st.DataObject) -> None:
    key, leaf = found
    value = data.draw(values_of(leaf.type))
    (change,) = apply(fresh(key), [(leaf.path, value)])
    assert change.new == value


@settings(max_examples=200, deadline=None)
@given(any_leaf, st.randoms(use_true_random=False))
def test_hyphens_and_underscores_in_a_path_are_equal(found: tuple[tuple[str, bool], Leaf], random: Any) -> None:
    key, leaf = found
    spelling = "".join(random.choice("-_") if letter == "_" else letter for letter in leaf.path)
    (change,) = apply(fresh(key), [(spelling, show(leaf.value))])
    assert change.path == leaf.path


@settings(max_examples=150, deadline=None)
@given(any_leaf, st.data())
def test_a_typo_in_a_path_is_an_error_that_names_a_valid_path(
    found: tuple[tuple[str, bool], Leaf], data: st.DataObject
) -> None:
    key, leaf = found
    position = data.draw(st.integers(0, len(leaf.path) - 1))
    kind = data.draw(st.sampled_from(["insert", "replace", "delete"]))
    letter = "" if kind == "delete" else data.draw(st.sampled_from(string.ascii_lowercase))
    typo = leaf.path[:position] + letter + leaf.path[position + (kind != "insert") :]
    assume(typo.replace("-", "_") not in PATHS[key])
    with pytest.raises(UserError) as error:
        apply(fresh(key), [(typo, show(leaf.value))])
    assert PATHS[key] & set(re.findall(r"'([^']+)'", str(error.value))), error.value


@settings(max_examples=60, deadline=None)
@given(any_task, st.text(string.ascii_letters + string.digits + ".-_", min_size=1))
def test_a_path_of_random_letters_is_never_accepted(key: tuple[str, bool], path: str) -> None:
    assume(path.replace("-", "_") not in PATHS[key])
    with pytest.raises(UserError, match="unknown config path"):
        apply(fresh(key), [(path, "1")])


def test_a_path_to_a_whole_branch_is_an_error_that_names_a_value_below_it() -> None:
    with pytest.raises(UserError, match=r"a value below it: 'env\.rewards\.alive\."):
        apply(fresh(), [("env.rewards.alive", "1")])


def test_a_path_below_a_value_is_an_error() -> None:
    with pytest.raises(UserError, match=r"did you mean 'env\.num_envs'"):
        apply(fresh(), [("env.num_envs.real", "1")])


def test_a_function_is_not_an_overridable_value() -> None:
    with pytest.raises(UserError, match="unknown config path"):
        apply(fresh(), [("env.rewards.alive.func", "os:system")])


def test_a_change_reads_as_path_old_and_new() -> None:
    (change,) = apply(fresh(), [("agent.actor.hidden-dims", "32,16")])
    assert str(change) == "agent.actor.hidden_dims: 128,128 -> 32,16"


def test_a_parameter_of_a_term_is_coerced_to_the_type_in_its_signature() -> None:
    roots = fresh()
    apply(roots, [("env.events.jitter.params.pos", "1")])
    assert roots["env"].events["jitter"].params["pos"] == 1.0
    with pytest.raises(UserError, match=r"env\.events\.jitter\.params\.pos expects float, got 'much'"):
        apply(roots, [("env.events.jitter.params.pos", "much")])


def test_a_whole_number_parameter_of_a_term_stays_a_whole_number() -> None:
    roots = fresh(("GeneLab-Inverted-Pendulum-Memory-v0", False))
    path = "env.observations.policy.terms.target.params.steps"
    apply(roots, [(path, "7")])
    assert type(value_at(roots, path)) is int


COERCIONS = [
    ("true", bool, True),
    ("True", bool, True),
    ("1", bool, True),
    ("false", bool, False),
    ("0", bool, False),
    (True, bool, True),
    ("12", int, 12),
    ("-3", int, -3),
    ("2", float, 2.0),
    ("3e-4", float, 3e-4),
    ("-.5", float, -0.5),
    (2, float, 2.0),
    ("text", str, "text"),
    ("1", str, "1"),
    ("none", str | None, None),
    ("None", int | None, None),
    ("5", int | None, 5),
    ("some", str | None, "some"),
    ("1,2,3", tuple[int, ...], (1, 2, 3)),
    ("1, 2", tuple[int, ...], (1, 2)),
    ("(1,2)", tuple[int, ...], (1, 2)),
    ("[1,2]", tuple[int, ...], (1, 2)),
    ("7", tuple[int, ...], (7,)),
    ("", tuple[int, ...], ()),
    ("0.5,2", tuple[float, float], (0.5, 2.0)),
    ([1, 2], tuple[int, ...], (1, 2)),
    ("-1,1", tuple[float, float] | None, (-1.0, 1.0)),
    ("none", tuple[float, float] | None, None),
    ("1,a,2,b", tuple[tuple[int, str], ...], ((1, "a"), (2, "b"))),
    ("gru", Literal["lstm", "gru"], "gru"),
    ("lstm", Literal["lstm", "gru"] | None, "lstm"),
    ("none", Literal["lstm", "gru"] | None, None),
    ("2", int | float, 2),
    ("2.5", int | float, 2.5),
    ("hinge", str | tuple[str, ...], "hinge"),
    ("hinge,slide", str | tuple[str, ...], ("hinge", "slide")),
]


@pytest.mark.parametrize(("typed", "declared", "expected"), COERCIONS)
def test_values_are_coerced_to_the_declared_type(typed: Any, declared: Any, expected: Any) -> None:
    value = coerce(typed, declared, "a.b")
    assert value == expected
    assert type(value) is type(expected)


REFUSALS = [
    ("yes", bool),
    ("2", bool),
    ("", bool),
    ("1.5", int),
    ("1e3", int),
    ("true", int),
    ("many", int),
    (1.5, int),
    (True, int),
    ("fast", float),
    ("1,2", float),
    ("none", float),
    (True, float),
    ("1,two", tuple[int, ...]),
    ("1.5,2", tuple[int, ...]),
    ("1", tuple[float, float]),
    ("1,2,3", tuple[float, float]),
    ("rnn", Literal["lstm", "gru"]),
    ("none", Literal["lstm", "gru"]),
    ("LSTM", Literal["lstm", "gru"] | None),
    ("x", int | None),
    (3, str),
]


@pytest.mark.parametrize(("typed", "declared"), REFUSALS)
def test_a_value_of_the_wrong_type_is_an_error_that_names_path_type_and_value(typed: Any, declared: Any) -> None:
    with pytest.raises(UserError) as error:
        coerce(typed, declared, "env.some.path")
    assert str(error.value) == f"env.some.path expects {type_name(declared)}, got '{typed}'"


@pytest.mark.parametrize(
    ("declared", "name"),
    [
        (float, "float"),
        (int | None, "int or none"),
        (Literal["lstm", "gru"], "lstm|gru"),
        (tuple[int, ...], "list of int"),
        (tuple[float, float], "2 values (float, float)"),
    ],
)
def test_types_are_named_as_users_read_them(declared: Any, name: str) -> None:
    assert type_name(declared) == name


UNREAD = [
    ("agent.actor.rnn_hidden_dim", "32", "rnn_type"),
    ("agent.actor.rnn-num-layers", "2", "rnn_type"),
    ("agent.critic.rnn_hidden_dim", "32", "rnn_type"),
    ("env.observations.critic.terms.joint_pos.noise", "0.1", "noise is switched off"),
    ("env.scene.ground.friction", "0.5", "collides with nothing"),
    ("env.simulation.steps", "12", "--max-iterations"),
]


@pytest.mark.parametrize(("path", "value", "reason"), UNREAD)
def test_changing_what_a_training_never_reads_is_an_error_with_the_reason(path: str, value: str, reason: str) -> None:
    with pytest.raises(UserError, match="would have no effect") as error:
        resolve(TASK, overrides=[(path, value)], unused=UNUSED_IN_TRAINING)
    assert reason in str(error.value)


@pytest.mark.parametrize("path", [path for path, _, _ in UNREAD])
def test_setting_an_unread_value_to_what_it_already_is_is_fine(path: str) -> None:
    present = show(value_at(resolve(TASK).roots, path.replace("-", "_")))
    resolve(TASK, overrides=[(path, present)], unused=UNUSED_IN_TRAINING)


def test_desired_kl_is_unread_when_the_schedule_is_fixed() -> None:
    fixed = ("agent.algorithm.schedule", "fixed")
    with pytest.raises(UserError, match=r"agent\.algorithm\.desired_kl would have no effect"):
        resolve(TASK, overrides=[("agent.algorithm.desired_kl", "0.03"), fixed])


def test_desired_kl_is_read_when_the_schedule_is_adaptive() -> None:
    assert resolve(TASK, overrides=[("agent.algorithm.desired_kl", "0.02")]).agent_cfg.algorithm.desired_kl == 0.02


@pytest.mark.parametrize("order", [1, -1])
def test_an_unread_value_becomes_read_by_another_override_in_any_order(order: int) -> None:
    typed = [("agent.actor.rnn_hidden_dim", "32"), ("agent.actor.rnn_type", "gru")]
    assert resolve(TASK, overrides=typed[::order]).agent_cfg.actor.rnn_hidden_dim == 32


def test_noise_of_a_term_is_unread_once_the_noise_of_its_group_is_off() -> None:
    path = "env.observations.policy.terms.joint_pos.noise"
    resolve(TASK, overrides=[(path, "0.1")])
    with pytest.raises(UserError, match="would have no effect"):
        resolve(TASK, overrides=[(path, "0.1"), ("env.observations.policy.noise", "false")])


def test_the_interval_of_an_event_that_happens_at_reset_is_unread() -> None:
    with pytest.raises(UserError, match="interval_s"):
        resolve(TASK, overrides=[("env.events.jitter.interval_s", "1,2")])


def test_a_whole_branch_can_be_declared_unread() -> None:
    roots = fresh()
    changes = apply(roots, [("agent.algorithm.gamma", "0.9")])
    with pytest.raises(UserError, match=r"agent\.algorithm\.gamma would have no effect: no learning here"):
        check_read(roots, changes, {"agent": "no learning here"})


def test_two_different_values_for_one_path_are_an_error() -> None:
    with pytest.raises(UserError, match=r"env\.num_envs is given twice, as '8' and as '16'"):
        resolve(TASK, overrides=[("env.num_envs", "8"), ("env.num-envs", "16")])


def test_the_same_value_twice_for_one_path_is_fine() -> None:
    assert resolve(TASK, overrides=[("env.num_envs", "8"), ("env.num-envs", "8")]).env_cfg.num_envs == 8


def test_the_same_value_in_two_spellings_is_fine() -> None:
    typed = [("env.simulation.dt", "0.010"), ("env.simulation.dt", "0.01")]
    assert resolve(TASK, overrides=typed).env_cfg.simulation.dt == 0.01


def test_overrides_win_over_the_preset() -> None:
    setup = resolve(TASK, preset="cpu", overrides=[("agent.actor.hidden_dims", "8")])
    assert setup.agent_cfg.actor.hidden_dims == (8,)


# Whole config objects, as presets give them


def ramp() -> RampCfg:
    return RampCfg(start=0.0, end=1.0, steps=100)


def test_a_config_object_adds_a_term_behind_those_that_are_there() -> None:
    roots = fresh()
    before = list(roots["env"].rewards)
    apply(roots, [("env.rewards.bonus", RewardTermCfg(mdp.alive, weight=3.0))])
    assert list(roots["env"].rewards) == [*before, "bonus"]
    assert value_at(roots, "env.rewards.bonus.weight") == 3.0


def test_a_config_object_takes_the_place_of_an_optional_or_of_another_one() -> None:
    roots = fresh()
    apply(roots, [("env.rewards.alive.ramp", ramp()), ("env.rewards.upright", RewardTermCfg(mdp.alive, weight=2.0))])
    assert value_at(roots, "env.rewards.alive.ramp.steps") == 100
    assert value_at(roots, "env.rewards.upright.weight") == 2.0


def test_what_is_changed_below_an_object_does_not_change_the_one_that_was_given() -> None:
    given = RewardTermCfg(mdp.alive, weight=3.0)
    apply(fresh(), [("env.rewards.bonus", given), ("env.rewards.bonus.weight", "5")])
    assert given.weight == 3.0


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("env.rewards.bonus", ramp(), "env.rewards.bonus expects RewardTermCfg"),
        ("env.rewards.alive", ramp(), "env.rewards.alive expects RewardTermCfg"),
        ("env.rewards.bonus", "3", "unknown config path 'env.rewards.bonus'"),
        ("env.rewrds.bonus", ramp(), "unknown config path 'env.rewrds.bonus'"),
        ("env.rewards.alive.params.bonus", ramp(), "unknown config path 'env.rewards.alive.params.bonus'"),
        ("env.decimation", ramp(), "env.decimation expects int"),
    ],
)
def test_an_object_where_it_does_not_belong_is_an_error(path: str, value: Any, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        apply(fresh(), [(path, value)])


def test_an_optional_object_can_be_unset_as_a_user_types_it() -> None:
    roots = fresh()
    apply(roots, [("env.rewards.alive.ramp", ramp()), ("env.rewards.alive.ramp", "none")])
    assert roots["env"].rewards["alive"].ramp is None


def test_a_config_object_is_shown_with_what_is_not_default() -> None:
    term = RewardTermCfg(mdp.alive, weight=3.0, ramp=ramp())
    assert show(term) == "RewardTermCfg(func=alive, weight=3.0, ramp=RampCfg(start=0.0, end=1.0, steps=100))"
