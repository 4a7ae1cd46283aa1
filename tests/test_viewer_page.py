"""The web viewer in a real browser: Debian's chromium without a display, drawing with the CPU."""

import re
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runs import start

pytest.importorskip("viser", reason="the web viewer is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install '.[dev]'")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("there is no chromium: apt-get install chromium", allow_module_level=True)

GO1 = "Genelab-Velocity-Flat-Unitree-Go1-v0"
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
PATIENCE = 60.0
"""Seconds that anything may take on a machine with other work."""


class Page:
    """The viewer's page as a visitor has it."""

    def __init__(self, page: Any):
        self.page = page
        self.errors: list[str] = []
        page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def fact(self, name: str) -> float:
        """The number behind a name on the page."""
        text = self.page.locator("p", has_text=f"{name}: ").first.inner_text()
        return float(re.search(rf"^{name}: (-?[\d.]+)", text, re.MULTILINE)[1])  # type: ignore[index]

    def wait(self, condition: Any) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, self.page.locator("p").all_inner_texts()
            self.page.wait_for_timeout(100)

    def press(self, button: str) -> None:
        self.page.get_by_role("button", name=button, exact=True).click()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The Go1's page, served by the command in a process of its own."""
    arguments = ("--agent", "trained", "--num-envs", "2", "--viewer", "web", "--port", "0")
    process = start(tmp_path_factory.mktemp("page"), "play", GO1, *arguments)
    address = next((found[0] for line in process.stdout if (found := re.search(r"http://\S+", line))), None)  # type: ignore[union-attr]
    assert address is not None, process.communicate()[1]
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        shown = Page(browser.new_page(viewport={"width": 900, "height": 700}))
        shown.page.set_default_timeout(1000 * PATIENCE)
        shown.page.goto(address)
        shown.page.get_by_text("engine mujoco, 2 worlds").wait_for()
        yield shown
        browser.close()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err  # Ctrl-C is how a page is closed
    assert "played" in out
    assert err == ""


def test_the_page_draws_the_robot_and_the_browser_has_nothing_to_complain_about(page: Page, tmp_path: Path) -> None:
    import imageio.v3

    page.wait(lambda: page.fact("time") > 0.5)
    close = page.page.locator(".mantine-Notification-closeButton")  # a word about drawing with the CPU
    if close.count():
        close.first.click()
    picture = tmp_path / "page.png"

    def colours() -> int:
        page.page.screenshot(path=picture)
        middle = imageio.v3.imread(picture)[250:450, 150:350, :3]
        return len({tuple(pixel) for pixel in (middle // 16).reshape(-1, 3).tolist()})

    page.wait(lambda: colours() > 30)  # ground alone has a few, the robot with its shades has many
    assert page.errors == []


def test_a_slider_moves_the_robot(page: Page) -> None:
    forward = page.page.get_by_role("slider").nth(1)  # the first chooses the world
    forward.focus()
    forward.press("End")
    page.wait(lambda: page.fact("velocity") > 0.5)
    forward.press("Home")
    page.wait(lambda: page.fact("velocity") < -0.5)
    assert page.page.get_by_label("by hand").is_checked()
    assert page.errors == []


def test_pause_pauses_and_step_takes_one_step(page: Page) -> None:
    page.press("Pause")
    page.page.get_by_role("button", name="Play", exact=True).wait_for()
    page.page.wait_for_timeout(500)
    stopped = page.fact("time")
    page.page.wait_for_timeout(1000)
    assert page.fact("time") == stopped
    page.press("Step")
    page.wait(lambda: page.fact("time") == pytest.approx(stopped + 0.02))
    page.press("Play")
    page.wait(lambda: page.fact("time") > stopped + 0.2)
    assert page.errors == []
