"""Named random streams."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from genelab.core.errors import UserError
from genelab.core.rng import Streams, derive_seed

EXAMPLES = settings(max_examples=40, deadline=None, derandomize=True)
seeds = st.integers(0, 2**31)
names = st.text(min_size=1, max_size=20)


@EXAMPLES
@given(seeds, names)
def test_same_seed_and_name_give_the_same_samples(seed, name):
    assert torch.equal(Streams(seed).uniform(name, (5,)), Streams(seed).uniform(name, (5,)))


@EXAMPLES
@given(seeds, names, names)
def test_streams_of_different_names_differ(seed, a, b):
    streams = Streams(seed)
    assert a == b or not torch.equal(streams.normal(a, (8,)), streams.normal(b, (8,)))


@EXAMPLES
@given(seeds, seeds, names)
def test_streams_of_different_seeds_differ(a, b, name):
    assert a == b or not torch.equal(Streams(a).normal(name, (8,)), Streams(b).normal(name, (8,)))


@EXAMPLES
@given(seeds, st.integers(0, 50))
def test_draws_from_one_stream_do_not_shift_another(seed, draws):
    undisturbed, disturbed = Streams(seed), Streams(seed)
    disturbed.normal("other", (draws,))
    assert torch.equal(undisturbed.uniform("mine", (5,)), disturbed.uniform("mine", (5,)))


@EXAMPLES
@given(seeds, names)
def test_derived_seeds_are_valid_generator_seeds(seed, name):
    assert 0 <= derive_seed(seed, name) < 2**63


@EXAMPLES
@given(seeds, st.floats(-100, 100), st.floats(0.001, 100))
def test_uniform_samples_stay_in_their_range(seed, low, width):
    samples = Streams(seed).uniform("x", (200,), low, low + width)
    assert samples.min() >= torch.tensor(low).float() - 1e-5
    assert samples.max() <= torch.tensor(low + width).float() + 1e-5


def test_integer_samples_include_both_ends():
    samples = Streams(0).integers("x", (500,), 2, 5)
    assert sorted(set(samples.tolist())) == [2, 3, 4, 5]


def test_samples_are_float32_and_have_the_shape_asked_for():
    streams = Streams(0)
    assert streams.normal("n", (3, 2)).shape == streams.uniform("u", (3, 2)).shape == (3, 2)
    assert streams.normal("n", (1,)).dtype == streams.uniform("u", (1,)).dtype == torch.float32


def test_state_dict_continues_every_stream_where_it_was():
    original = Streams(3)
    original.uniform("a", (7,))
    original.normal("b", (3,))
    state = original.state_dict()
    expected = [original.uniform("a", (5,)), original.normal("b", (5,)), original.uniform("not yet used", (5,))]

    restored = Streams(99)
    restored.uniform("a", (2,))
    restored.load_state_dict(state)
    got = [restored.uniform("a", (5,)), restored.normal("b", (5,)), restored.uniform("not yet used", (5,))]
    assert all(torch.equal(x, y) for x, y in zip(expected, got, strict=True))


def test_a_state_without_a_stream_that_was_drawn_from_is_an_error_that_names_it():
    streams = Streams(1)
    streams.uniform("drawn", (1,))
    with pytest.raises(UserError, match="the random stream 'drawn' is missing"):
        streams.load_state_dict(Streams(1).state_dict())


def test_state_dict_is_not_changed_by_later_draws():
    streams = Streams(1)
    streams.uniform("a", (1,))
    state = streams.state_dict()
    before = state["generators"]["a"].clone()
    streams.uniform("a", (100,))
    assert torch.equal(state["generators"]["a"], before)


def test_the_global_generator_is_not_touched():
    before = torch.get_rng_state()
    streams = Streams(5)
    streams.uniform("a", (10,))
    streams.normal("a", (10,))
    streams.integers("a", (10,), 0, 3)
    streams.load_state_dict(streams.state_dict())
    assert torch.equal(torch.get_rng_state(), before)


def test_samples_do_not_depend_on_the_global_generator():
    torch_state = torch.get_rng_state()
    torch.manual_seed(1)
    first = Streams(5).normal("a", (10,))
    torch.manual_seed(2)
    second = Streams(5).normal("a", (10,))
    torch.set_rng_state(torch_state)
    assert torch.equal(first, second)
