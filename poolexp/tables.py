"""What every table of an experiment file has in common."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

T = TypeVar("T")


class Table(BaseModel):
    """A table of the file: frozen, and a key that nobody knows is an error, not ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def as_tuple(value: Any) -> Any:  # noqa: ANN401 - it sees whatever a file holds
    """Make a single value a list of one."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)


Factor = Annotated[tuple[T, ...], BeforeValidator(as_tuple), Field(min_length=1)]
"""One level or a list of levels; a list makes the field a factor."""

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", max_length=64)]
"""A name that is safe in paths, SQL, HTML and the terminal."""

Positive = Annotated[float, Field(gt=0)]
