"""One page: a template filled in, the chart library inside, and nothing that it could fetch.

Texts out of an experiment are escaped by the template; charts travel as JSON in blocks that no
browser executes. A policy in the page's head allows the one script whose digest it names, and no
connection at all, so even a text that slipped through would stay a text.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from datetime import UTC, datetime
from functools import lru_cache
from importlib import resources
from pathlib import Path

import altair as alt
import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from poolexp.landing import sync_directory
from reports.numbers import MISSING

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_SIGNS = {chr(code): chr(0x2400 + code) for code in range(0x20)}
_EFFECT = re.compile(r"([\d,.]+ to [\d,.]+ ms|was [\d,.]+ ms)")


@lru_cache(maxsize=1)
def chart_script() -> Markup:
    """The chart library in Altair's own version with our script, as one function without globals.

    Making it takes a second, so it is made once. Only `</script` and `<!--` can end or change a
    script in HTML; escaping every `</` would break regular expressions in the library.
    """
    version = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    own = (resources.files("reports") / "templates" / "page.js").read_text(encoding="utf-8")
    bundle = vl_convert.javascript_bundle(snippet=own, vl_version=version)
    safe = re.sub(r"<(?=/script|!--)", r"\\x3c", bundle, flags=re.IGNORECASE)
    return Markup(f'(function () {{"use strict";\n{safe}\n}})();')  # noqa: S704 - our own script


def content_policy(script: str) -> str:
    """What the page may do: run this one script, and load nothing."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def json_block(value: object) -> Markup:
    """A value as JSON that cannot end the block in which it stands; NaN is refused."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704 - nothing in it can open a tag


def emphasised(sentence: str) -> Markup:
    """A sentence with its effects in bold."""
    return Markup(_EFFECT.sub(r"<b>\1</b>", str(escape(sentence))))  # noqa: S704 - escaped before


def moment(value: datetime | None) -> str:
    """A moment in UTC, to the minute; the warehouse keeps UTC without saying so."""
    if value is None:
        return MISSING
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    return f"{aware.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def visible(value: object) -> object:
    """A text in which no character acts unseen: controls and changes of direction get a sign."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return _UNSEEN.sub(lambda found: _SIGNS.get(found[0], "\ufffd"), value)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("reports"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(json_block=json_block, emphasised=emphasised, moment=moment)
    return environment


def render(template: str, **context: object) -> str:
    """The page that `template` makes of what it is given, script and policy included."""
    script = chart_script()
    return (
        _environment()
        .get_template(template)
        .render(script=script, policy=content_policy(script), **context)
    )


def write_page(path: Path, text: str) -> None:
    """Write a page so that it is there whole or not at all, readable by its owner only."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".new")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    sync_directory(path.parent)
