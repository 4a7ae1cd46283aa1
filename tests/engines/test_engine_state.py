"""State that continues bit for bit, determinism, and what surrounds an engine in its process."""

import logging
import random
import signal
import sys

import numpy as np
import torch

from genelab.engines import make_engine
from worlds import (
    busy_engine,
    busy_scene,
    randomise,
    run_and_record,
    state_of,
)


def test_state_dict_takes_the_engine_back_bit_for_bit(engine_name):
    engine = busy_engine(engine_name)
    randomise(engine)
    engine.step(20)
    state = engine.state_dict()
    expected = run_and_record(engine)
    engine.ctrl.zero_()
    engine.load_state_dict(state)
    assert torch.equal(run_and_record(engine), expected)


def test_state_dict_continues_bit_for_bit_in_a_fresh_engine(engine_name):
    engine = busy_engine(engine_name)
    randomise(engine)
    engine.step(20)
    state, at_save = engine.state_dict(), state_of(engine)
    expected = run_and_record(engine)
    fresh = make_engine(engine_name, busy_scene(), 4)
    fresh.load_state_dict(state)
    assert torch.equal(state_of(fresh), at_save)
    assert torch.equal(run_and_record(fresh), expected)
    for field in engine.capabilities.model_fields:
        assert torch.equal(fresh.model_field(field), engine.model_field(field)), field


def test_a_state_without_own_model_fields_takes_them_back(engine_name):
    engine = busy_engine(engine_name)
    state = engine.state_dict()
    expected = run_and_record(engine)
    randomise(engine)
    engine.load_state_dict(state)
    assert torch.equal(run_and_record(engine), expected)


def test_same_inputs_give_the_same_bits(engine_name):
    first, second = busy_engine(engine_name), busy_engine(engine_name)
    for engine in (first, second):
        randomise(engine)
    assert torch.equal(run_and_record(first, 100), run_and_record(second, 100))


def test_engines_in_one_process_leave_each_other_alone(engine_name):
    alone = run_and_record(busy_engine("mujoco"))
    first, plain, second = busy_engine(engine_name), busy_engine("mujoco"), busy_engine(engine_name)
    frames = {engine: [] for engine in (first, plain, second)}
    for _ in range(30):
        for engine in (first, plain, second):
            engine.step()
            frames[engine].append(state_of(engine).clone())
    assert torch.equal(torch.stack(frames[plain]), alone)
    assert torch.equal(torch.stack(frames[first]), torch.stack(frames[second]))


def test_an_engine_leaves_the_state_of_the_process_as_it_was(engine_name):
    def surroundings() -> tuple:
        return (
            random.getstate(),
            np.random.get_state()[1].tolist(),
            torch.get_rng_state().tolist(),
            (torch.get_default_dtype(), torch.get_default_device(), torch.get_num_threads()),
            [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)],
            logging.getLogger().level,
            sys.excepthook,
        )

    before = surroundings()
    engine = busy_engine(engine_name)
    randomise(engine)
    engine.step(3)
    assert surroundings() == before


def test_the_number_of_threads_does_not_change_the_bits(engine_name):
    one, two = busy_engine(engine_name, threads=1), busy_engine(engine_name, threads=2)
    for engine in (one, two):
        randomise(engine)
    assert torch.equal(run_and_record(one, 100), run_and_record(two, 100))
