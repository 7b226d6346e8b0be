import asyncio
import os
import signal

import pytest

from flows.signals import StoppedBySignalError, run_until_signal


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_cancels_cleans_up_and_is_named(number: signal.Signals) -> None:
    events: list[str] = []

    async def work() -> None:
        try:
            os.kill(os.getpid(), number)
            # A second one must not break into the cleaning up.
            os.kill(os.getpid(), number)
            await asyncio.sleep(30)
        finally:
            os.kill(os.getpid(), number)
            await asyncio.sleep(0.05)
            events.append("cleaned up")

    with pytest.raises(StoppedBySignalError, match=number.name) as caught:
        run_until_signal(work())
    assert events == ["cleaned up"]
    assert caught.value.exit_code == 128 + number


def test_without_a_signal_results_and_errors_pass_through() -> None:
    async def good() -> int:
        return 7

    async def bad() -> int:
        raise ValueError("of its own")

    assert run_until_signal(good()) == 7
    with pytest.raises(ValueError, match="of its own"):
        run_until_signal(bad())
