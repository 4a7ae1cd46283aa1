"""The server of a page: viser's, on a socket of our own, behind a check of who comes.

viser has no hook for the check. It hands its requests to `websockets.serve`, so ours stands there while it starts.
"""

import contextlib
import getpass
import http
import io
import logging
import secrets
import socket
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

from genelab.core.components import NotInstalledError
from genelab.core.errors import UserError

LOCAL = ("127.0.0.1", "localhost", "::1")
"""Addresses of this machine that other machines cannot reach."""
FIRST_PORT, PORTS = 8080, 20
"""Where a free port is looked for, unless one is asked for."""


class Guard:
    """Decides which requests reach the page: of HTTP, and those that open the page's socket."""

    def __init__(self, token: str | None):
        """With a token, only requests to paths that begin with it; else only those meant for this very machine."""
        self.token = token

    def admits(self, path: str, host: str, origin: str | None) -> bool:
        """By a request's path and its headers Host and Origin."""
        if self.token is not None:
            first = path.partition("?")[0].strip("/").partition("/")[0]
            return secrets.compare_digest(first.encode(), self.token.encode())
        # Pages of other origins may open sockets to this machine, and may give it a name of their own.
        return urlsplit(f"//{host}").hostname in LOCAL and origin in (None, f"http://{host}")

    def inner_path(self, path: str) -> str:
        """A path as the page's server knows it."""
        return path if self.token is None else path.replace(f"/{self.token}", "", 1) or "/"


class PageServer:
    """A running viser server (`viser`) and how to reach it."""

    def __init__(self, host: str, port: int | None, title: str):
        self.guard = Guard(None if host in LOCAL else secrets.token_urlsafe(16))
        self._socket = _bind(host, port)
        self.host, self.port = host, int(self._socket.getsockname()[1])
        self.viser: Any = _start(self._socket, self.guard, title)

    @property
    def url(self) -> str:
        """What to open in a browser."""
        if self.guard.token is None:
            return f"http://localhost:{self.port}"
        name = socket.gethostname() if self.host in ("0.0.0.0", "::") else self.host
        return f"http://{f'[{name}]' if ':' in name else name}:{self.port}/{self.guard.token}/"

    def invitation(self) -> list[str]:
        """Lines that say how to open the page, from here and from elsewhere."""
        lines = [f"viewer: {self.url}  (Ctrl-C ends it)"]
        if self.guard.token is None:
            there = f"{getpass.getuser()}@{socket.gethostname()}"
            lines.append(f"from another machine: ssh -N -L {self.port}:localhost:{self.port} {there}")
        return lines

    def close(self) -> None:
        with _quiet():
            self.viser.stop()
        self._socket.close()


def _bind(host: str, port: int | None) -> socket.socket:
    """A listening socket; on the first free port if none is asked for."""
    ports = [port] if port is not None else [*range(FIRST_PORT, FIRST_PORT + PORTS), 0]
    for number in ports:
        try:
            family = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0][0]
            return socket.create_server((host, number), family=family)
        except (OSError, OverflowError) as error:
            reason = error
    raise UserError(f"cannot listen on --host {host} --port {ports[0]}: {getattr(reason, 'strerror', None) or reason}")


def _start(listening: socket.socket, guard: Guard, title: str) -> Any:
    try:
        import viser
        from viser import _messages
        from websockets.asyncio import server as websockets
        from websockets.http11 import Response
    except ImportError as error:
        raise NotInstalledError("the web viewer is not installed: pip install 'genelab[web]'") from error

    started, serve = [], websockets.serve

    def guarded(handler: Any, host: str, port: int, *, process_request: Callable[..., Any], **options: Any) -> Any:
        def check(connection: Any, request: Any) -> Any:
            if not guard.admits(request.path, request.headers.get("Host", ""), request.headers.get("Origin")):
                body = b"This page opens with the address that the viewer printed.\n"
                headers = type(request.headers)({"Content-Length": str(len(body)), "Connection": "close"})
                return Response(http.HTTPStatus.FORBIDDEN.value, "Forbidden", headers, body)
            request.path = guard.inner_path(request.path)
            return process_request(connection, request)

        started.append(port)
        return serve(handler, sock=listening, process_request=check, **options)

    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)  # closed tabs are no errors
    websockets.serve = guarded  # type: ignore[assignment]
    try:
        with _quiet():
            server = viser.ViserServer(host="localhost", port=0, label=title, verbose=False)
    finally:
        websockets.serve = serve  # type: ignore[misc]
    if not started:
        server.stop()
        raise RuntimeError("this version of viser starts its server in another way: the page would be unguarded")
    for request in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
        server._websock_server.unregister_handler(request)  # else any visitor could publish the page
    return server


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without viser's own announcements."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield
