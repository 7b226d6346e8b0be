"""Prefect's API for the time of one command.

Prefect would start one by itself, in our process group and while our event loop stands still:
Ctrl-C in a terminal would then end it before the flow that needs it, or not be heard at all. So
it is started here, in a session of its own, and ended here, last.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO

from flows.environment import prepare_environment
from poolexp.errors import RefusedError
from poolexp.privileges import run_as

_HOST = "127.0.0.1"
_READY_WITHIN_S = 120.0
_ANSWER_WITHIN_S = 5.0
_END_WITHIN_S = 5.0
_PAUSE_S = 0.1
_COMPLAINT_BYTES = 1500

# Loopback is never behind a proxy, whatever the environment says of others.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@asynccontextmanager
async def prefect_api(home: Path) -> AsyncIterator[None]:
    """Have an API that Prefect can use, and name it in the environment.

    Prefect must be imported inside the context, for it reads its environment then. An API that
    the person has set up is used as it is.

    Raises:
        RefusedError: that API does not answer, or ours does not start.
    """
    prepare_environment(home)
    if url := os.environ.get("PREFECT_API_URL"):
        await _require_answer(url)
        yield
        return
    port = _free_port()
    with tempfile.TemporaryFile() as log:
        server = _start(port, log)
        try:
            await _until_ready(server, f"http://{_HOST}:{port}/api", log)
            os.environ["PREFECT_API_URL"] = f"http://{_HOST}:{port}/api"
            yield
        finally:
            os.environ.pop("PREFECT_API_URL", None)
            _end(server)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _start(port: int, log: IO[bytes]) -> subprocess.Popen[bytes]:
    factory = ("--factory", "prefect.server.api.server:create_app")
    place = ("--host", _HOST, "--port", str(port))
    argv = [sys.executable, "-m", "uvicorn", *factory, *place, "--log-level", "error"]
    return subprocess.Popen(
        # Should we be killed, the kernel tells the server to end as well.
        run_as(argv, None, end_with_parent="KILL"),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
        env={**os.environ, "PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1"},
    )


async def _until_ready(server: subprocess.Popen[bytes], url: str, log: IO[bytes]) -> None:
    deadline = time.monotonic() + _READY_WITHIN_S
    while not await asyncio.to_thread(_answers, url):
        if server.poll() is not None or time.monotonic() > deadline:
            log.seek(0)
            told = log.read()[-_COMPLAINT_BYTES:].decode(errors="replace").strip()
            raise RefusedError(
                f"Prefect's API, which the flow needs, did not start: {told or 'it says nothing'}",
                "Look for a full disk, or set PREFECT_API_URL to a Prefect server of your own.",
            )
        await asyncio.sleep(_PAUSE_S)


async def _require_answer(url: str) -> None:
    if not await asyncio.to_thread(_answers, url.rstrip("/")):
        host = urllib.parse.urlsplit(url).hostname
        raise RefusedError(
            f"PREFECT_API_URL names a Prefect server on {host} that does not answer",
            "Start it, or unset PREFECT_API_URL: then a server is started for the run.",
        )


def _answers(url: str) -> bool:
    with (
        suppress(OSError, urllib.error.URLError, ValueError),
        _DIRECT.open(f"{url}/health", timeout=_ANSWER_WITHIN_S) as answer,
    ):
        return bool(answer.status == 200)
    return False


def _end(server: subprocess.Popen[bytes]) -> None:
    server.send_signal(signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        server.wait(_END_WITHIN_S)
        return
    server.kill()
    server.wait()
