"""Quaternion algebra."""

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from genelab.core.math import (
    cross,
    quat_apply,
    quat_apply_inverse,
    quat_conjugate,
    quat_from_axis_angle,
    quat_mul,
    rotation_vector,
)

EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)
ATOL = 1e-12


def vectors(size: int, bound: float = 10.0) -> st.SearchStrategy[Tensor]:
    numbers = st.floats(-bound, bound, allow_nan=False, allow_subnormal=False)
    return st.lists(numbers, min_size=size, max_size=size).map(lambda v: torch.tensor(v, dtype=torch.float64))


unit_vectors = vectors(3).filter(lambda v: v.norm() > 1e-3).map(lambda v: v / v.norm())
unit_quats = vectors(4).filter(lambda v: v.norm() > 1e-3).map(lambda v: v / v.norm())
angles = st.floats(-2 * math.pi, 2 * math.pi, allow_nan=False, allow_subnormal=False).map(
    lambda a: torch.tensor(a, dtype=torch.float64)
)


def rotation_matrix(axis: Tensor, angle: Tensor) -> Tensor:
    """Rodrigues' formula."""
    x, y, z = axis.tolist()
    k = torch.tensor([[0, -z, y], [z, 0, -x], [-y, x, 0]], dtype=torch.float64)
    return torch.eye(3, dtype=torch.float64) + angle.sin() * k + (1 - angle.cos()) * (k @ k)


@EXAMPLES
@given(unit_quats, vectors(3))
def test_rotation_preserves_the_norm(q, v):
    torch.testing.assert_close(quat_apply(q, v).norm(), v.norm(), atol=ATOL, rtol=1e-12)


@EXAMPLES
@given(unit_quats, vectors(3), vectors(3))
def test_rotation_preserves_the_cross_product(q, a, b):
    torch.testing.assert_close(
        quat_apply(q, cross(a, b)), cross(quat_apply(q, a), quat_apply(q, b)), atol=1e-10, rtol=0
    )


@EXAMPLES
@given(unit_quats, vectors(3))
def test_inverse_rotation_undoes_the_rotation(q, v):
    torch.testing.assert_close(quat_apply_inverse(q, quat_apply(q, v)), v, atol=1e-10, rtol=0)


@EXAMPLES
@given(unit_quats)
def test_a_quaternion_times_its_conjugate_is_the_identity(q):
    identity = torch.tensor([1.0, 0.0, 0.0, 0.0], dtype=torch.float64)
    torch.testing.assert_close(quat_mul(q, quat_conjugate(q)), identity, atol=ATOL, rtol=0)


@EXAMPLES
@given(unit_quats, unit_quats, vectors(3))
def test_product_applies_the_right_factor_first(a, b, v):
    torch.testing.assert_close(quat_apply(quat_mul(a, b), v), quat_apply(a, quat_apply(b, v)), atol=1e-10, rtol=0)


@EXAMPLES
@given(unit_quats, unit_quats, unit_quats)
def test_product_is_associative(a, b, c):
    torch.testing.assert_close(quat_mul(quat_mul(a, b), c), quat_mul(a, quat_mul(b, c)), atol=ATOL, rtol=0)


@EXAMPLES
@given(unit_vectors, angles, vectors(3))
def test_axis_angle_agrees_with_the_rotation_matrix(axis, angle, v):
    expected = rotation_matrix(axis, angle) @ v
    torch.testing.assert_close(quat_apply(quat_from_axis_angle(axis, angle), v), expected, atol=1e-10, rtol=0)


@EXAMPLES
@given(unit_vectors, angles, angles)
def test_rotations_about_one_axis_add_their_angles(axis, a, b):
    product = quat_mul(quat_from_axis_angle(axis, a), quat_from_axis_angle(axis, b))
    torch.testing.assert_close(product, quat_from_axis_angle(axis, a + b), atol=ATOL, rtol=0)


def test_components_are_in_wxyz_order():
    quarter_turn_about_z = torch.tensor([math.cos(math.pi / 4), 0.0, 0.0, math.sin(math.pi / 4)])
    rotated = quat_apply(quarter_turn_about_z, torch.tensor([1.0, 0.0, 0.0]))
    torch.testing.assert_close(rotated, torch.tensor([0.0, 1.0, 0.0]), atol=1e-6, rtol=0)


def test_functions_broadcast_over_leading_dimensions():
    generator = torch.Generator().manual_seed(0)
    q = torch.nn.functional.normalize(torch.randn(5, 1, 4, generator=generator), dim=-1)
    v = torch.randn(1, 3, 3, generator=generator)
    rotated = quat_apply(q.expand(5, 3, 4), v.expand(5, 3, 3))
    assert quat_apply(q, v).shape == (5, 3, 3)
    torch.testing.assert_close(quat_apply(q, v), rotated)


@EXAMPLES
@given(unit_quats)
def test_a_rotation_vector_turns_like_its_quaternion_by_at_most_half_a_turn(q):
    vector = rotation_vector(q)
    angle = vector.norm()
    assert angle <= math.pi + 1e-9
    back = quat_from_axis_angle(vector / angle.clamp(min=1e-12), angle)
    torch.testing.assert_close(back * torch.sign((back * q).sum()), q, atol=1e-9, rtol=0)
