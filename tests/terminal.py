"""A terminal for tests: what a command writes to one, and what is then to be read on its screen."""

import os
import re
import subprocess
import sys
from pathlib import Path

_CONTROL = re.compile(r"\x1b\[(\??[\d;]*)([A-Za-z])")


def run_in_terminal(*arguments: object, cwd: Path, columns: int = 100) -> tuple[int, str]:
    """Run ``python -m genelab`` in a pseudo-terminal; its exit code and all it wrote."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    command = [sys.executable, "-m", "genelab", *map(str, arguments)]
    environment = {**os.environ, "TERM": "xterm-256color"}
    process = subprocess.Popen(command, cwd=cwd, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    written = b""
    try:
        while part := os.read(ours, 65536):
            written += part
    except OSError:  # the other side is closed
        pass
    os.close(ours)
    return process.wait(timeout=60), written.decode()


def screen(written: str) -> list[str]:
    """The lines that stay to be read after control codes have moved, erased and written over them."""
    lines, row, column, at = [""], 0, 0, 0
    while at < len(written):
        if match := _CONTROL.match(written, at):
            count = int(match[1]) if match[1].isdigit() else 1
            if match[2] == "A":
                row = max(0, row - count)
            elif match[2] == "K":
                lines[row] = ""
            at = match.end()
            continue
        character = written[at]
        at += 1
        if character == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif character == "\r":
            column = 0
        else:
            lines[row] = lines[row][:column].ljust(column) + character + lines[row][column + 1 :]
            column += 1
    return [line.rstrip() for line in lines]
