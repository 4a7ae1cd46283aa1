"""Faults of the environment (no room, no terminal, signals, …) end in one line or in the right result.

Each attempt is a fork of this process (see `attacks.kills`), so that imports are paid once.
"""

import ctypes
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from attacks import Trial
from attacks.kills import RSL_RL, SMALL, TASK, in_a_fork, in_a_fresh_process, result_of, resume, tell, train, watch
from genelab.cli.main import main
from genelab.core.files import read_json

NAME = "rsl_rl ppo"
Fault = Callable[[random.Random, Path], tuple[str, Callable[[], object]]]
"""Draws what exactly it is, and how a process brings it about for itself. The path is where the run will be."""


def run(count: int, seed: int) -> Iterator[Trial]:
    """Train and evaluate under one fault after the other, then resume without it."""
    yield from in_a_fresh_process("attacks.faults", count, seed)


def attack(count: int, seed: int) -> Iterator[Trial]:
    """What `run` does, in this process."""
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        code, said = in_a_fork(lambda: train(NAME, home / "whole"), lambda: None)
        if code != 0:
            raise RuntimeError(said)
        expected = result_of(home / "whole")
        for number in range(count):
            shutil.rmtree(home / "attempt", ignore_errors=True)
            (home / "attempt").mkdir()
            yield _attempt(FAULTS[number % len(FAULTS)], draw, home / "attempt/run", expected)


def _attempt(fault: Fault, draw: random.Random, directory: Path, expected: list[object]) -> Trial:
    detail, prepare = fault(draw, directory)
    what = f"{fault.__name__.replace('_', ' ')}: {detail}".removesuffix(": ")
    work = _train_and_film if fault is no_opengl else _train_and_evaluate
    code, said = in_a_fork(lambda: work(directory), prepare)
    if fault is the_directory_goes_away and (gone := _elsewhere(directory)).exists():
        shutil.copytree(gone, directory, dirs_exist_ok=True)
    if code < 0 and fault is not a_signal:
        return Trial(what, "broke", f"ended by signal {-code}: {said}")
    if "Traceback" in said or (code > 0 and len(said.splitlines()) > 1):
        return Trial(what, "broke", f"exit code {code}: {said}")
    if not (directory / "run.json").is_file():
        return Trial(what, "refused", said) if code != 0 else Trial(what, "broke", "done, but there is no run")
    if code >= 0 and fault is not the_directory_goes_away and read_json(directory / "run.json")["status"] == "running":
        return Trial(what, "broke", "the run says that it is running")
    if fault is something_is_in_the_way:
        _clear(directory / detail)
    again, more = in_a_fork(lambda: resume(directory), lambda: None)  # when all is well again
    if again != 0 or result_of(directory) != expected:
        return Trial(what, "broke", f"{said}; afterwards it does not go on to the same weights: {more}")
    return Trial(what, "refused" if code != 0 else "passed", said)


def _train_and_evaluate(directory: Path) -> int:
    evaluation = ("--episodes", "2", "--out", str(directory / "eval.json"))
    return _command("train", TASK, *SMALL, *RSL_RL, "--log-dir", str(directory)) or _command(
        "eval", TASK, str(directory / "model_final.pt"), *evaluation
    )


def _train_and_film(directory: Path) -> int:
    """OpenGL is chosen when MuJoCo is imported, so the film is made by a process of its own."""
    words = ("play", TASK, "--checkpoint", str(directory / "model_final.pt"), "--max-steps", "2")
    film = [sys.executable, "-m", "genelab", *words, "--video", str(directory / "film.mp4")]
    return _train_and_evaluate(directory) or subprocess.run(film, stdout=subprocess.DEVNULL).returncode


def _command(*words: str) -> int:
    try:
        main(words)
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def _clear(path: Path) -> None:
    if path.is_dir() and not any(path.iterdir()):
        path.rmdir()
    elif path.is_file() and path.stat().st_size == 0:
        path.unlink()


# Faults


def files_cannot_grow(draw: random.Random, directory: Path) -> tuple[str, Callable[[], object]]:
    size = draw.choice([0, 100, 3_000, 20_000, 60_000, 100_000])
    return f"beyond {size} bytes", lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def something_is_in_the_way(draw: random.Random, directory: Path) -> tuple[str, Callable[[], object]]:
    name = draw.choice([".", "params", "state", "metrics.jsonl", "run.lock", "model_1.pt", "eval.json"])
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return name, path.mkdir if path.suffix else path.touch


def few_open_files(draw: random.Random, directory: Path) -> tuple[str, Callable[[], object]]:
    limit = draw.randrange(12, 30)
    return f"{limit} at most", lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))


def a_signal(draw: random.Random, directory: Path) -> tuple[str, Callable[[], object]]:
    number = draw.choice([signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
    after = draw.uniform(0.0, 2.5)

    def prepare() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        trained = os.getpid()
        if os.fork() == 0:
            time.sleep(after)
            os.kill(trained, number)
            os._exit(0)

    return f"{number.name} after {after:.2f} s", prepare


def no_reader_of_the_output(draw: random.Random, directory: Path) -> tuple[str, Callable[[], object]]:
    def prepare() -> None:
        reader, writer = os.pipe()
        os.close(reader)
        os.dup2(writer, 1)
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115  (the old one knows a file, not a pipe)

    return "", prepare


def a_closed_stream(draw: random.Random, directory: Path) -> tuple[str, Callable[[], object]]:
    number, name = draw.choice([(0, "stdin"), (1, "stdout")])

    def prepare() -> None:
        os.close(number)
        setattr(sys, name, None)

    return name, prepare


def no_home(draw: random.Random, directory: Path) -> tuple[str, Callable[[], object]]:
    def prepare() -> None:
        os.environ.pop("HOME", None)
        os.environ["XDG_CACHE_HOME"] = "/proc/not-there"

    return "", prepare


def no_temporary_directory(draw: random.Random, directory: Path) -> tuple[str, Callable[[], object]]:
    def prepare() -> None:
        tempfile.tempdir = "/proc/not-there"
        os.environ["TMPDIR"] = tempfile.tempdir

    return "", prepare


def an_odd_locale(draw: random.Random, directory: Path) -> tuple[str, Callable[[], object]]:
    name = draw.choice(["C", "POSIX", "tr_TR.ISO-8859-9"])

    def prepare() -> None:
        os.environ.update(LC_ALL=name, LANG=name)
        sys.stdout = open(1, "w", encoding="ascii", closefd=False)  # noqa: SIM115  (as with such a locale)

    return name, prepare


def the_clock_jumps(draw: random.Random, directory: Path) -> tuple[str, Callable[[], object]]:
    real, jump = time.time, draw.choice([-1e6, 1e6])
    return f"by {jump:g} s", lambda: setattr(time, "time", lambda: real() + jump * (int(10 * real()) % 2))


def leftovers_of_a_killed_writer(draw: random.Random, directory: Path) -> tuple[str, Callable[[], object]]:
    for name in (".run.json.abc.tmp", "state/.resume.pt.abc.tmp", "run.lock"):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(draw.randbytes(20))
    return "", lambda: None


def no_opengl(draw: random.Random, directory: Path) -> tuple[str, Callable[[], object]]:
    chosen = draw.choice(["disable", "glfw", "nonsense"])
    return chosen, lambda: os.environ.update(MUJOCO_GL=chosen, DISPLAY="", WAYLAND_DISPLAY="")


def a_read_only_disk(draw: random.Random, directory: Path) -> tuple[str, Callable[[], object]]:
    """Mounted in this process alone by root; for others it is the permissions that forbid to write."""
    place = draw.choice([directory.parent, directory, directory / "state"])
    place.mkdir(parents=True, exist_ok=True)
    return place.name, lambda: _mount_read_only(place) if os.geteuid() == 0 else place.chmod(0o555)


def _mount_read_only(place: Path) -> None:
    libc, path = ctypes.CDLL(None, use_errno=True), os.fsencode(place)
    private, bind, read_only = 0x44000, 0x1000, 0x1021  # MS_REC | MS_PRIVATE; MS_BIND; with MS_REMOUNT | MS_RDONLY
    if libc.unshare(0x20000) != 0:  # CLONE_NEWNS: the mounts of a container without the right to make any stay
        return
    for source, target, flags in ((None, b"/", private), (path, path, bind), (None, path, read_only)):
        if libc.mount(source, target, None, ctypes.c_ulong(flags), None) != 0:
            raise OSError(ctypes.get_errno(), f"cannot mount {place}")


def the_directory_goes_away(draw: random.Random, directory: Path) -> tuple[str, Callable[[], object]]:
    """As when a disk is pulled out. It is put back before the run goes on."""
    at = draw.randrange(1, 60)

    def prepare() -> None:
        done = 0

        def operation() -> None:
            nonlocal done
            done += 1
            if done == at and directory.exists():
                directory.rename(_elsewhere(directory))

        watch(directory, operation)

    return f"at operation {at}", prepare


def _elsewhere(directory: Path) -> Path:
    return directory.with_name("gone")


FAULTS: tuple[Fault, ...] = (
    files_cannot_grow,
    a_signal,
    something_is_in_the_way,
    no_reader_of_the_output,
    a_closed_stream,
    no_home,
    no_temporary_directory,
    an_odd_locale,
    the_clock_jumps,
    leftovers_of_a_killed_writer,
    few_open_files,
    no_opengl,
    a_read_only_disk,
    the_directory_goes_away,
)


if __name__ == "__main__":
    tell(attack(int(sys.argv[1]), int(sys.argv[2])))
