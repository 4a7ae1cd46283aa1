"""How pictures are drawn: MuJoCo chooses a kind of OpenGL when it is imported, by the variable MUJOCO_GL.

Everything but pictures works without OpenGL, so only who asks for a picture is told that there is none.
"""

import ctypes
import os
import sys

from genelab.core.errors import UserError, reason

VARIABLE = "MUJOCO_GL"
OFF = ("disable", "disabled", "off", "false", "0")


def has_display() -> bool:
    """Whether there is a screen to open windows on, as far as one can know without trying."""
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def import_mujoco() -> None:
    """Import MuJoCo for the first time, with OpenGL that needs no display where there is none."""
    if not has_display():
        try:
            ctypes.CDLL("libEGL.so.1")
            os.environ.setdefault(VARIABLE, "egl")
        except OSError:
            os.environ.setdefault(VARIABLE, "disable")
    try:
        import mujoco  # noqa: F401
    except Exception as error:  # a word that it does not know, or whatever a missing library leads to
        if not os.environ.get(VARIABLE):
            raise
        chosen = f"{VARIABLE}={os.environ[VARIABLE]}"
        remedy = "unset it, or use egl, osmesa, glfw or disable"
        raise UserError(f"MuJoCo cannot be loaded with {chosen} ({reason(error)}): {remedy}") from error


def no_pictures(error: Exception) -> UserError:
    """The error for a picture that cannot be drawn."""
    chosen = os.environ.get(VARIABLE, "")
    if chosen.lower().strip() in OFF:
        why = f"{VARIABLE}={chosen} switches OpenGL off"
    elif not has_display() and chosen not in ("egl", "osmesa"):
        why = f"{VARIABLE}={chosen} needs a display, and there is none"
    else:
        why = f"{f'{VARIABLE}={chosen}' if chosen else 'OpenGL'} does not work ({reason(error)})"
    remedy = f"use {VARIABLE}=egl (of libegl1) or {VARIABLE}=osmesa (of libosmesa6)"
    return UserError(f"cannot draw pictures: {why}; {remedy}")
