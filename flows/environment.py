"""What Prefect must find in its environment before it is imported.

Its state belongs under our home; it must neither speak with the internet nor fill the terminal.
Whatever the person has set stays as it is.
"""

from __future__ import annotations

import os
from pathlib import Path


def prepare_environment(home: Path) -> None:
    """Set Prefect's defaults for this process and the ones it starts."""
    defaults = {
        "PREFECT_HOME": str(home / "prefect"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        # Errors are told once, by the command, with their remedy; Prefect's own account of them
        # goes to its API, where its pages show it, and not to the terminal.
        "PREFECT_LOGGING_LEVEL": "WARNING",
        "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
        "PREFECT_SERVER_LOGGING_LEVEL": "ERROR",
        "PREFECT_CLI_PROMPT": "false",
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
