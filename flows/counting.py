"""Counts things done that take a while: a bar on a terminal, one plain line each elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from flows.console import plain

Step = Callable[[str, int, int], None]
"""Told before each thing: its name, its number from 1, and how many there are."""


@contextmanager
def counting(console: Console, verb: str) -> Iterator[Step]:
    """What to call before each thing that is done."""
    if not console.is_terminal:
        yield lambda name, number, total: console.print(
            plain(f"{verb} {number}/{total}  {name}"), soft_wrap=True
        )
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(verb, total=None)

        def step(name: str, number: int, total: int) -> None:
            description = plain(f"{verb} {name}").plain
            progress.update(task, description=description, completed=number - 1, total=total)

        yield step
