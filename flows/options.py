"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

HomeOption = Annotated[
    Path,
    typer.Option("--home", envvar="POOLEXP_HOME", help="Where runs, warehouse and reports lie."),
]
RunArgument = Annotated[
    str, typer.Argument(help="A run's id, the beginning of it, its label, or 'latest'.")
]
