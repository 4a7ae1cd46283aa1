"""The web viewer: seconds to its first picture, updates per second with four worlds, what a watched training loses.

The browser is chromium without a display; it is started before the clock. On a machine with other work, look at the CPU
seconds, which do not count the time that others had, and at the ratio, whose two sides are taken in turns.
"""

import argparse
import base64
import io
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import viser
from PIL import Image
from playwright.sync_api import sync_playwright
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from common import save
from genelab.core.files import read_json_lines
from genelab.experiment.inference import bundled_checkpoint, setup_policy
from genelab.viewer.server import PageServer
from genelab.viewer.session import Session
from genelab.viewer.web import WebViewer

GO1, PENDULUM = "Genelab-Velocity-Flat-Unitree-Go1-v0", "GeneLab-Inverted-Pendulum-v0"
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
ADDRESS = re.compile(r"http://\S+")


@contextmanager
def browser_page() -> Iterator[Any]:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": 900, "height": 700})
        page.set_default_timeout(180_000)
        yield page
        browser.close()


@contextmanager
def command(*words: str) -> Iterator[subprocess.Popen[str]]:
    """A genelab command while it runs; Ctrl-C ends it."""
    process = subprocess.Popen([sys.executable, "-m", "genelab", *words], stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGTERM)
        process.communicate()


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def first_picture() -> dict[str, float]:
    """From the command to the robot on the page, by the frames that the browser shows."""
    with browser_page() as page:
        frames: list[tuple[float, bytes]] = []
        browser = page.context.new_cdp_session(page)

        def shown(frame: dict[str, Any]) -> None:
            frames.append((time.perf_counter(), base64.b64decode(frame["data"])))
            browser.send("Page.screencastFrameAck", {"sessionId": frame["sessionId"]})

        browser.on("Page.screencastFrame", shown)
        started = time.perf_counter()
        with command("play", GO1, "--agent", "trained", "--num-envs", "4", "--viewer", "web", "--port", "0") as process:
            assert process.stdout is not None
            address = next(found[0] for line in process.stdout if (found := ADDRESS.search(line)))
            served, looked_at = time.perf_counter() - started, 0
            browser.send("Page.startScreencast", {"format": "jpeg", "quality": 60, "everyNthFrame": 2})
            page.goto(address)
            while not any(_robot(picture) for _, picture in frames[looked_at:]):
                looked_at = len(frames)
                page.wait_for_timeout(20)
            first = next(at for at, picture in frames[looked_at:] if _robot(picture))
            spent = cpu_seconds(process.pid)
            browser.send("Page.stopScreencast")
            return {"served_s": served, "first_picture_s": first - started, "cpu_s_until_picture": spent}


def _robot(picture: bytes) -> bool:
    """Whether there is more than ground in the middle of the stage."""
    middle = np.asarray(Image.open(io.BytesIO(picture)).convert("RGB"))[250:450, 150:350]
    return len({tuple(pixel) for pixel in (middle // 16).reshape(-1, 3).tolist()}) > 30


def updates(seconds: float) -> dict[str, float]:
    """State updates of four worlds at the speed of life, sent to a client that draws nothing."""
    checkpoint = bundled_checkpoint(GO1)
    assert checkpoint is not None
    _, inference, _ = setup_policy(GO1, checkpoint, [], num_envs=4)
    viewer = WebViewer(
        Session(inference.env, {"trained": lambda: inference.policy}, "trained"), PageServer(GO1, port=0)
    )
    here = f"localhost:{viewer.server.port}"
    protocol = [Subprotocol(f"viser-v{viser.__version__}")]
    with connect(f"ws://{here}", subprotocols=protocol, max_size=None, origin=Origin(f"http://{here}")) as client:
        threading.Thread(target=lambda: list(client), daemon=True).start()
        before, began, cpu = viewer.updates, time.perf_counter(), time.process_time()
        while time.perf_counter() - began < seconds:
            viewer.session.advance()
            viewer.sync()
        shown, wall, cpu = viewer.updates - before, time.perf_counter() - began, time.process_time() - cpu
    viewer.close()
    return {"updates_per_s": shown / wall, "updates_per_cpu_s": shown / cpu}


def watched(rounds: int, seconds: float) -> dict[str, float]:
    """The speed of a training while `genelab watch` follows it, over that while it is stopped."""
    with tempfile.TemporaryDirectory() as directory:
        run = Path(directory) / "run"
        small = ("--num-envs", "512", "--agent.save_interval", "10", "--max-iterations", "100000")
        with command("train", PENDULUM, *small, "--log-dir", str(run)):
            while not (run / "model_10.pt").exists():
                time.sleep(0.5)
            with command("watch", str(run), "--port", "0") as watcher:
                assert watcher.stdout is not None
                next(line for line in watcher.stdout if ADDRESS.search(line))
                time.sleep(2 * seconds)
                ratios, cpu = [], cpu_seconds(watcher.pid)
                for _ in range(rounds):
                    with_it = _speed(run, seconds)
                    watcher.send_signal(signal.SIGSTOP)
                    ratios.append(with_it / _speed(run, seconds))
                    watcher.send_signal(signal.SIGCONT)
                cores = (cpu_seconds(watcher.pid) - cpu) / (rounds * seconds)
    spread = {"ratio_median": statistics.median(ratios), "ratio_min": min(ratios), "ratio_max": max(ratios)}
    return {**spread, "cores_of_the_watch": cores}


def _speed(run: Path, seconds: float) -> float:
    """Iterations per second over a while, of those that began and ended in it."""
    before = len(read_json_lines(run / "metrics.jsonl"))
    time.sleep(seconds)
    whole = read_json_lines(run / "metrics.jsonl")[before + 1 :]
    return len(whole) / sum(line["collect_s"] + line["learn_s"] for line in whole)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=6.0)
    options = parser.parse_args()
    measured = {
        "go1": first_picture(),
        "four_worlds": updates(options.seconds),
        "training_while_watched": watched(options.rounds, options.seconds),
    }
    save("viewer", {name: {key: round(value, 3) for key, value in part.items()} for name, part in measured.items()})


if __name__ == "__main__":
    main()
