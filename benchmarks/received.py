"""How much later a coroutine goes on than the bytes of its answer arrived.

usage:  .venv/bin/uv run python -m benchmarks.received

`received` is read when the coroutine that waits for a result goes on. Here a proxy stands between
the pool and the server and notes when it passes on each answer; what lies between the two is the
way through the kernel, the event loop and the driver's decoding.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace

import numpy as np
from rich.console import Console

from benchmarks.stand import LIGHT, LIGHT_PARAMETERS, stand
from poolexp.cgroups import CpuLimit


class StampingProxy:
    """Passes bytes on in both directions, and notes when each piece of an answer goes out."""

    def __init__(self, host: str, port: int) -> None:
        self._target = host, port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.stamps_ns: list[int] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            server = socket.create_connection(self._target)
            for each in (client, server):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._pass, args=(client, server, None), daemon=True).start()
            back = (server, client, self.stamps_ns)
            threading.Thread(target=self._pass, args=back, daemon=True).start()

    @staticmethod
    def _pass(source: socket.socket, sink: socket.socket, stamps_ns: list[int] | None) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                # Before the send: the other side cannot have the bytes earlier.
                now_ns = time.monotonic_ns()
                sink.sendall(data)
                if stamps_ns is not None:
                    stamps_ns.append(now_ns)
            sink.shutdown(socket.SHUT_WR)


async def main(limited: bool) -> None:
    """Measure and print."""
    async with stand(CpuLimit(0.5, 10) if limited else None) as place:
        proxy = StampingProxy(place.server.host, place.server.port)
        through = replace(place, server=replace(place.server, port=proxy.port))
        load = {
            "sql": LIGHT,
            "parameters": LIGHT_PARAMETERS,
            "arrivals": {"kind": "uniform", "rate_per_s": 100.0},
        }
        trial = await through.ours(load, {"size": 1}, measure_s=10, seed=1)
    # Requests do not overlap here, so the last stamp within a round trip is the answer's.
    origin_ns = trial.origin_ns
    stamps = np.array(proxy.stamps_ns) - origin_ns
    received = trial.rows["received_ns"].to_numpy()
    last = stamps[np.searchsorted(stamps, received, side="right") - 1]
    late_us = (received - last) / 1e3
    p50, p99 = np.percentile(late_us, [50, 99])
    Console().print(
        f"received after the bytes were passed on: p50 {p50:.0f} us, p99 {p99:.0f} us, "
        f"most {late_us.max():.0f} us, over {len(late_us)} requests"
    )


if __name__ == "__main__":
    asyncio.run(main("--unlimited" not in sys.argv))
