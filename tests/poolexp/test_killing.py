"""Children that end in the moment in which they are killed."""

import asyncio
import os
import sys
from contextlib import suppress

import pytest

from poolexp.killing import kill_unreaped


async def test_a_child_that_has_just_ended_keeps_its_status_for_the_watcher(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for _ in range(20):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-S", "-c", "import os; os.read(0, 1)", stdin=asyncio.subprocess.PIPE
        )
        assert process.stdin is not None
        process.stdin.write(b"x")
        # The loop is held up until the child has ended, so that nothing here knows of it yet.
        wanted = os.WEXITED | os.WNOWAIT | os.WNOHANG
        with suppress(ChildProcessError):
            while os.waitid(os.P_PID, process.pid, wanted) is None:
                pass
        kill_unreaped(process)
        assert await process.wait() in {0, -9}
    assert "Unknown child" not in caplog.text
