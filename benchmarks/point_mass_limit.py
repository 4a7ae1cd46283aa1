"""What a policy of Playground-PointMass-v0 can have at most: python benchmarks/point_mass_limit.py

The return is a smooth function of the controls, so the best controls for a start are found by gradient ascent, from
those of a simple controller. What they gain over it is to be added to what the controller has over many starts.
"""

import math

import torch
from torch import Tensor

DT, MASS, DAMPING, FORCE, REACH, RADIUS, STEPS = 0.02, 0.3, 1.0, 0.1, 0.29, 0.015, 1000
MOVING = 250
"""Control steps in which all starts have arrived; what comes after has a reward of 1."""


def returns(start: Tensor, controls: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Returns of episodes (N,) from starts (N, 2), and the controls (MOVING, N, 2): by default a controller's own."""
    pos, vel, total, taken = start, torch.zeros_like(start), torch.zeros(len(start)), []
    for step in range(MOVING):
        control = (-100.0 * pos - 24.0 * vel if controls is None else controls[step]).clamp(-1.0, 1.0)
        vel = (vel + DT * FORCE / MASS * control) / (1.0 + DT * DAMPING / MASS)
        pos = pos + DT * vel
        beyond = ((pos.square().sum(1) + 1e-12).sqrt() - RADIUS).clamp(min=0.0) / RADIUS
        total = total + torch.exp(math.log(0.1) * beyond.square()) * (1.0 - 0.1 * control.square().sum(1))
        taken.append(control)
    return total + STEPS - MOVING, torch.stack(taken)


def starts(number: int, seed: int) -> Tensor:
    return REACH * (2.0 * torch.rand(number, 2, generator=torch.Generator().manual_seed(seed)) - 1.0)


def main() -> None:
    few = starts(512, seed=0)
    simple, controls = returns(few)
    controls = controls.clone().requires_grad_()
    optimizer, best = torch.optim.Adam([controls], lr=0.02), simple
    for _ in range(300):
        found, _ = returns(few, controls)
        best = torch.maximum(best, found.detach())
        optimizer.zero_grad()
        (-found.sum()).backward()
        optimizer.step()
        with torch.no_grad():
            controls.clamp_(-1.0, 1.0)
    gain, many = best - simple, returns(starts(1_000_000, seed=1))[0]
    print(f"a simple controller: {many.mean():.2f}, deviation between episodes {many.std():.1f}")
    print(f"the best controls have {gain.mean():.2f} ± {1.96 * gain.std() / len(gain) ** 0.5:.2f} more")


if __name__ == "__main__":
    main()
