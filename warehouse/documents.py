"""The documents that come in at the border, as far as landing itself needs to understand them.

What is not named here is kept as it is: later versions may use what this one does not know.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from poolexp.errors import WarehouseError
from poolexp.landing import FORMAT


class Document(BaseModel):
    """Any of the documents: it says which format it has."""

    model_config = ConfigDict(frozen=True, strict=True)

    format: Annotated[int, Field(ge=1)]


class PlanDocument(Document):
    """plan.json."""

    run_id: str
    created_at: str
    experiment: dict[str, Any]
    trials: list[dict[str, Any]]


class Seal(BaseModel):
    """What a manifest says about one of its files."""

    model_config = ConfigDict(frozen=True, strict=True)

    rows: int
    sha256: str


class Manifest(Document):
    """trial.json."""

    run_id: str
    trial: int
    attempt: int
    status: str
    files: dict[str, Seal]


D = TypeVar("D", bound=Document)


def read_text(path: Path) -> str | None:
    """The text of a document; None if it has not been written.

    Raises:
        WarehouseError: it is there but cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise damaged(path, str(error)) from None


def parse(kind: type[D], path: Path, text: str) -> D:
    """Take the text of a document apart.

    Raises:
        WarehouseError: it is no such document, or its format is newer than this version knows.
    """
    try:
        version = Document.model_validate_json(text).format
        if version > FORMAT:
            raise WarehouseError(
                f"{path} has format {version}; this version of poolexp knows up to {FORMAT}",
                "Use the newer version of poolexp that wrote it.",
            )
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise damaged(path, f"{place}: {first['msg']}".removeprefix(": ")) from None


def damaged(path: Path, what: str) -> WarehouseError:
    """The error for a file of a run that is not as it was written."""
    return WarehouseError(f"{path} is damaged: {what}", "Bring the file back from a copy.")
