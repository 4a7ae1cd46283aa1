"""Quaternions (w, x, y, z) on batches of torch tensors. All functions broadcast over leading dimensions.

Results are stored component by component: torch is several times faster on long rows than on rows of three.

Where every call counts there is another way: with frames as (B, 4, N) and vectors as (B, 3, N), what is linear in the
`products` of their components is one matrix product. `CROSS` and `turning` are such matrices.
"""

import torch
from torch import Tensor

CROSS = torch.stack([torch.linalg.cross(a, b) for a in torch.eye(3) for b in torch.eye(3)], dim=1)
"""(3, 9) from the products of two vectors' components to their cross product."""


def products(a: Tensor, b: Tensor) -> Tensor:
    """All products of a component of `a` with one of `b`.  (B, i, N), (B, j, N) -> (B, i * j, N)"""
    return (a.unsqueeze(2) * b.unsqueeze(1)).flatten(1, 2)


def turning(vectors: Tensor) -> Tensor:
    """(B, 3, 16) from the products of a unit quaternion with itself to constant vectors (B, 3), turned by it."""
    units, pure = torch.eye(4, dtype=vectors.dtype, device=vectors.device), torch.nn.functional.pad(vectors, (1, 0))
    pairs = [quat_mul(quat_mul(a, pure), quat_conjugate(b))[..., 1:] for a in units for b in units]
    return torch.stack(pairs, dim=-1)


def frame_axes(quat: Tensor) -> Tensor:
    """The axes x, y, z of frames, in the world frame.  (4, N) -> (3 axes, 3, N)"""
    return (_AXES.to(quat.device) @ products(quat[None], quat[None])[0]).unflatten(0, (3, 3))


def quat_mul(a: Tensor, b: Tensor) -> Tensor:
    """Hamilton product: the rotation b followed by the rotation a.  (…, 4)"""
    aw, ax, ay, az = a.unbind(-1)
    bw, bx, by, bz = b.unbind(-1)
    return _components(
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def quat_conjugate(q: Tensor) -> Tensor:
    """The inverse of a unit quaternion.  (…, 4)"""
    w, x, y, z = q.unbind(-1)
    return _components(w, -x, -y, -z)


def quat_apply(q: Tensor, v: Tensor) -> Tensor:
    """Rotate vectors by unit quaternions.  (…, 4), (…, 3) -> (…, 3)"""
    w, x, y, z = q.unbind(-1)
    return _rotated(w, x, y, z, v)


def quat_apply_inverse(q: Tensor, v: Tensor) -> Tensor:
    """Rotate vectors by the inverses of unit quaternions: world frame to body frame.  (…, 3)"""
    w, x, y, z = q.unbind(-1)
    return _rotated(w, -x, -y, -z, v)


def _rotated(w: Tensor, x: Tensor, y: Tensor, z: Tensor, v: Tensor) -> Tensor:
    a, b, c = v.unbind(-1)
    ta, tb, tc = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    return _components(a + w * ta + y * tc - z * tb, b + w * tb + z * ta - x * tc, c + w * tc + x * tb - y * ta)


def quat_from_axis_angle(axis: Tensor, angle: Tensor) -> Tensor:
    """Rotation by `angle` radians about a unit axis.  (…, 3), (…) -> (…, 4)"""
    half, (x, y, z) = 0.5 * angle, axis.unbind(-1)
    sine = half.sin()
    return _components(half.cos(), sine * x, sine * y, sine * z)


def rotation_vector(q: Tensor) -> Tensor:
    """Axis times angle, at most pi, of the rotation by a unit quaternion.  (…, 4) -> (…, 3)"""
    vector = q[..., 1:] * torch.where(q[..., :1] < 0.0, -1.0, 1.0)
    sine = torch.linalg.vector_norm(vector, dim=-1, keepdim=True)
    factor = 2.0 * torch.atan2(sine, q[..., :1].abs()) / sine.clamp(min=1e-9)
    return vector * torch.where(sine < 1e-6, 2.0, factor)


def cross(a: Tensor, b: Tensor) -> Tensor:
    """Cross product over the last dimension, with broadcasting.  (…, 3)"""
    ax, ay, az = a.unbind(-1)
    bx, by, bz = b.unbind(-1)
    return _components(ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx)


def _components(*values: Tensor) -> Tensor:
    if values[0].dim() < 2:
        return torch.stack(values).movedim(0, -1)
    # Of many bodies in many worlds, the worlds lie side by side in memory, here as in the engines' arrays.
    return torch.stack([value.mT for value in values]).movedim(0, -1).transpose(-3, -2)


_AXES = turning(torch.eye(3)).flatten(0, 1)
