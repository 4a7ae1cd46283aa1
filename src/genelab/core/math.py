"""Quaternions (w, x, y, z) on batches of torch tensors. All functions broadcast over leading dimensions."""

import torch
from torch import Tensor


def quat_mul(a: Tensor, b: Tensor) -> Tensor:
    """Hamilton product: the rotation b followed by the rotation a.  (…, 4)"""
    aw, ax, ay, az = a.unbind(-1)
    bw, bx, by, bz = b.unbind(-1)
    return torch.stack(
        (
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ),
        dim=-1,
    )


def quat_conjugate(q: Tensor) -> Tensor:
    """The inverse of a unit quaternion.  (…, 4)"""
    return torch.cat((q[..., :1], -q[..., 1:]), dim=-1)


def quat_apply(q: Tensor, v: Tensor) -> Tensor:
    """Rotate vectors by unit quaternions.  (…, 4), (…, 3) -> (…, 3)"""
    w, xyz = q[..., :1], q[..., 1:]
    t = 2.0 * cross(xyz, v)
    return v + w * t + cross(xyz, t)


def quat_apply_inverse(q: Tensor, v: Tensor) -> Tensor:
    """Rotate vectors by the inverses of unit quaternions: world frame to body frame.  (…, 3)"""
    return quat_apply(quat_conjugate(q), v)


def quat_from_axis_angle(axis: Tensor, angle: Tensor) -> Tensor:
    """Rotation by `angle` radians about a unit axis.  (…, 3), (…) -> (…, 4)"""
    half = 0.5 * angle.unsqueeze(-1)
    return torch.cat((half.cos(), half.sin() * axis), dim=-1)


def cross(a: Tensor, b: Tensor) -> Tensor:
    """Cross product over the last dimension, with broadcasting.  (…, 3)"""
    return torch.linalg.cross(a, b, dim=-1)
