"""The server of a page: viser's, on a socket of our own, behind a check of who comes.

viser has no hook for the check. It hands its requests to `websockets.serve`, so ours stands there while it starts.
Nothing here needs torch: a browser loads the page while the worlds are built.
"""

import contextlib
import getpass
import io
import logging
import secrets
import socket
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

from genelab.core.errors import UserError
from genelab.core.registry import NotInstalledError

LOCAL = ("127.0.0.1", "localhost", "::1")
"""Addresses of this machine that other machines cannot reach."""
PORTS = range(8080, 8100)
"""Where a free port is looked for, unless one is asked for."""
REFUSAL = b"This page opens with the address that the viewer printed.\n"


def admits(token: str | None, path: str, host: str, origin: str | None) -> bool:
    """Whether a request may pass, by its path and its headers Host and Origin. Sockets begin with a request, too.

    With a token, the path must begin with it. Without, the request must be meant for this very machine: pages of other
    origins may open sockets to it, and may give it a name of their own.
    """
    if token is None:
        return urlsplit(f"//{host}").hostname in LOCAL and origin in (None, f"http://{host}")
    first = path.partition("?")[0].strip("/").partition("/")[0]
    return secrets.compare_digest(first.encode(), token.encode())


class PageServer:
    """A running viser server, light on its stage, and how to reach it."""

    def __init__(self, title: str, host: str = LOCAL[0], port: int | None = None):
        """Without a `port`, the first free one of `PORTS`; 0 is any."""
        self.title = title
        self.token = None if host in LOCAL else secrets.token_urlsafe(16)
        self._socket = _bind(host, port)
        self.host, self.port = host, int(self._socket.getsockname()[1])
        self.viser: Any = _start(self._socket, self.token, title)
        # Where a browser draws in software, its image of surroundings takes seven seconds and shadows take one.
        self.viser.scene.configure_environment_map(None)
        self.viser.scene.configure_default_lights(cast_shadow=False)
        self.viser.scene.add_light_hemisphere("/sky", ground_color=(150, 150, 150), intensity=1.5)

    def invitation(self) -> list[str]:
        """Lines that say how to open the page, from here and from elsewhere."""
        if self.token is not None:
            name = socket.gethostname() if self.host in ("0.0.0.0", "::") else self.host
            return [f"viewer: http://{f'[{name}]' if ':' in name else name}:{self.port}/{self.token}/"]
        here = f"localhost:{self.port}"
        tunnel = f"ssh -N -L {self.port}:{here} {getpass.getuser()}@{socket.gethostname()}"
        return [f"viewer: http://{here}", f"from another machine, after: {tunnel}"]

    def close(self) -> None:
        if self._socket.fileno() < 0:  # closed before
            return
        with contextlib.redirect_stdout(io.StringIO()):  # viser's own announcements
            self.viser.stop()
        self._socket.close()


@contextlib.contextmanager
def announced(title: str, host: str, port: int | None, say: Callable[[str], None]) -> Iterator[PageServer]:
    """A server whose address is said at once, so that the page loads while the worlds are built."""
    with contextlib.closing(PageServer(title, host, port)) as server:
        for line in server.invitation():
            say(line)
        yield server


def _bind(host: str, port: int | None) -> socket.socket:
    reason: Exception | None = None
    for number in PORTS if port is None else [port]:
        try:
            family = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0][0]
            return socket.create_server((host, number), family=family)
        except (OSError, OverflowError) as error:
            reason = error
    tried = f"--port {port}" if port is not None else f"a port from {PORTS[0]} to {PORTS[-1]}"
    raise UserError(f"cannot serve the page at --host {host} and {tried}: {reason}")


def _start(listening: socket.socket, token: str | None, title: str) -> Any:
    try:
        import viser
        from viser import _messages
        from websockets.asyncio import server as websockets
        from websockets.http11 import Response
    except ImportError as error:
        raise NotInstalledError("the web viewer is not installed: pip install 'genelab[web]'") from error
    started, serve = [], websockets.serve

    def guarded(handler: Any, host: str, port: int, *, process_request: Any, **options: Any) -> Any:
        def check(connection: Any, request: Any) -> Any:
            if not admits(token, request.path, request.headers.get("Host", ""), request.headers.get("Origin")):
                headers = {"Content-Length": str(len(REFUSAL)), "Connection": "close"}
                return Response(403, "Forbidden", type(request.headers)(headers), REFUSAL)
            request.path = request.path.replace(f"/{token}", "", 1) or "/"
            return process_request(connection, request)

        started.append(port)
        return serve(handler, sock=listening, process_request=check, **options)

    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)  # closed tabs are no errors
    websockets.serve = guarded  # type: ignore[assignment]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            server = viser.ViserServer(host="localhost", port=0, label=title, verbose=False)
    finally:
        websockets.serve = serve  # type: ignore[misc]
    if not started:
        server.stop()
        raise RuntimeError("this version of viser starts its server in another way: the page would be unguarded")
    for request in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
        server._websock_server.unregister_handler(request)  # else any visitor could publish the page
    return server
