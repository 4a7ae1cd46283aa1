"""A page in the browser that shows a session's worlds and lets a person act on them."""

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from genelab.viewer.server import PageServer
from genelab.viewer.session import Plots, Session
from genelab.viewer.stage import Stage

RATE, TEXT_RATE = 50.0, 5.0
"""How often the worlds, and the numbers and plots, are shown anew per second, at most."""
PATIENCE = 0.02
"""Seconds between two looks at what was asked, while the worlds stand still."""
SPEEDS = {"0.1": 0.1, "0.25": 0.25, "0.5": 0.5, "1": 1.0, "2": 2.0, "4": 4.0, "as fast as possible": math.inf}
COLOURS = ("#33658a", "#e4572e", "#2a9d5c", "#b5179e", "#f2a900", "#17a2b8", "#6d4c41", "#7a7f87")
Curves = Callable[[], Plots]
"""Reads what changes beside the worlds. Called `TEXT_RATE` times a second between two steps, for the same titles."""


class WebViewer:
    """The page. It has the methods of every viewer (`genelab.viewer.native.NativeViewer`)."""

    running = True

    def __init__(self, session: Session, server: PageServer, curves: Curves = dict):
        self.session, self.server = session, server
        self._viser = server.viser
        self._shown_at = self._told_at = 0.0
        self._next = time.monotonic()
        self.updates = 0
        self._viser.gui.configure_theme(show_logo=False, show_share_button=False, control_width="large")
        self._viser.gui.main_panel.dock_right()
        self.stage = Stage(self._viser.scene, session)
        # Found once: whoever connects does so in a thread of their own, and only one thread may look at the worlds.
        self._view = self.stage.camera()
        self._look_through(self._viser.initial_camera)
        self._viser.on_client_connect(lambda client: self._look_through(client.camera))  # some are there already
        self.panel = Panel(self._viser.gui, session, self.stage, server.title, curves)
        self._show()

    def sync(self) -> None:
        """Do what was asked, show the present state, and wait as the speed says; while paused, until it is not."""
        self._show()
        while self.session.waiting:
            time.sleep(PATIENCE)
            self._show()
            self._next = time.monotonic()
        self._next += self.session.env.step_dt / self.session.speed
        early = self._next - time.monotonic()
        time.sleep(max(0.0, early))
        if early < -0.1:  # too slow for the speed: no hurry afterwards
            self._next = time.monotonic()

    def close(self) -> None:
        self.server.close()

    def _look_through(self, camera: Any) -> None:
        camera.position, camera.look_at = self._view

    def _show(self) -> None:
        self.session.settle()
        now = time.monotonic()
        if now - self._shown_at >= 1.0 / RATE - 0.002:  # a control step of 1/RATE is never left out
            self._shown_at = now
            self.updates += 1
            with self._viser.atomic():
                self.stage.show()
        if now - self._told_at >= 1.0 / TEXT_RATE:
            self._told_at = now
            self.panel.tell()


class Panel:
    """The controls and plots of the page. What a control does is in `Session`."""

    def __init__(self, gui: Any, session: Session, stage: Stage, title: str, curves: Curves):
        self._gui, self._session, self._curves, env = gui, session, curves, session.env
        worlds = f"{env.num_envs} world{'s' if env.num_envs > 1 else ''}"
        gui.add_markdown(f"**{title}**  \nengine {env.engine.name}, {worlds}, {1 / env.step_dt:.0f} control steps/s")
        self._facts = gui.add_markdown("")
        self._told: dict[str, object] = {}
        with gui.add_folder("Run"):
            self._add_run_controls()
        if session.agents:
            with gui.add_folder("Agent"):
                self._add_agent_controls()
        self._commands = {name: self._add_command_controls(name) for name in session.commands}
        self._plots = {title: self._add_plot(title, lines) for title, lines in self._all_plots().items()}
        with gui.add_folder("Show"):
            for name in stage.visible:
                box = gui.add_checkbox(name, True)
                box.on_update(lambda event, name=name: stage.visible.update({name: event.target.value}))

    def tell(self) -> None:
        """Bring text, sliders and plots to the present state."""
        session = self._session
        lines = [f"{name}: {value}" for name, value in session.facts().items()]
        self._facts.content = "  \n".join([*lines, f"**{session.message}**"] if session.message else lines)
        self._buttons.options = ("Play" if session.paused else "Pause", *self._buttons.options[1:])
        if session.agents and self._is_news("agent", (*session.agents, session.agent)):
            self._names.options, self._names.value = tuple(session.agents), session.agent
        for name, (choice, sliders) in self._commands.items():
            command, by_hand = session.commands[name].command[session.world].tolist(), session.by_hand(name)
            if self._is_news(f"command {name}", (session.world, by_hand, command)):
                choice.value = by_hand
                for slider, value in zip(sliders, command, strict=True) if not by_hand else ():
                    slider.value = min(max(round(value, 2), slider.min), slider.max)
        for title, lines in self._all_plots().items():
            self._plots[title].data = tuple(lines.values())

    def _is_news(self, what: str, state: object) -> bool:
        """Whether it is not what was told last. What is told again could undo what a visitor has just set."""
        before, self._told[what] = self._told.get(what), state
        return before != state

    def _all_plots(self) -> Plots:
        return {**self._curves(), **self._session.plots()}

    def _add_run_controls(self) -> None:
        gui, session, set_ = self._gui, self._session, partial(setattr, self._session)
        does = {"Step": session.single_step, "Reset": session.reset, "Push": session.push}
        self._buttons = gui.add_button_group("", ("Pause", *does))
        self._on(self._buttons.on_click, lambda name: does.get(name, lambda: set_("paused", name == "Pause"))())
        speed = gui.add_dropdown("speed", tuple(SPEEDS), initial_value="1")
        self._on(speed.on_update, lambda value: set_("speed", SPEEDS[value]))
        if session.env.num_envs > 1:
            self._on(gui.add_slider("world", 0, session.env.num_envs - 1, 1, 0).on_update, session.look_at)
        self._on(gui.add_checkbox("follow the robot", True).on_update, lambda value: set_("follow", value))

    def _add_agent_controls(self) -> None:
        gui, session = self._gui, self._session
        self._names = gui.add_dropdown("who acts", tuple(session.agents), initial_value=session.agent)
        self._on(self._names.on_update, session.use)
        if session.load is not None:
            file = gui.add_text("checkpoint", "", hint="A file on the machine that simulates.")
            self._on(gui.add_button("Load the checkpoint").on_click, lambda _: session.use_file(file.value))

    def _add_command_controls(self, name: str) -> tuple[Any, list[Any]]:
        gui, session = self._gui, self._session
        with gui.add_folder(f"Command {name}"):
            choice = gui.add_checkbox("by hand", False)
            sliders = [
                gui.add_slider(label, low, max(high, low + 1e-6), max(high - low, 1e-6) / 100, low)
                for label, low, high in session.commands[name].sliders()
            ]

        def changed(event: Any) -> None:
            by_hand, values = event.target is not choice or choice.value, [slider.value for slider in sliders]
            if event.client is not None:
                session.ask(lambda: session.command(name, values if by_hand else None))

        for control in (choice, *sliders):
            control.on_update(changed)
        return choice, sliders

    def _on(self, register: Callable[..., Any], change: Callable[[Any], Any]) -> None:
        """Have a change made between two steps when a visitor uses a control, and not when we set its value."""

        def used(event: Any) -> None:
            value = event.target.value
            if event.client is not None:
                self._session.ask(lambda: change(value))

        register(used)

    def _add_plot(self, title: str, lines: dict[str, np.ndarray]) -> Any:
        series = [{"label": name, "stroke": COLOURS[i % len(COLOURS)], "width": 1} for i, name in enumerate(lines, -1)]
        look = {"scales": {"x": {"time": False}}, "legend": {"show": True}, "height": 260}
        with self._gui.add_folder(title):
            return self._gui.add_uplot(tuple(lines.values()), tuple(series), **look)
