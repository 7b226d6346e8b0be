"""Which settings of our own server a person may change. Pure."""

from __future__ import annotations

import re

# What a person may not set: it would open the server to others, or contradict what we record.
_OURS = frozenset(
    {
        "config_file",
        "data_directory",
        "hba_file",
        "ident_file",
        "include",
        "include_dir",
        "include_if_exists",
        "listen_addresses",
        "max_connections",
        "password_encryption",
        "port",
        "unix_socket_directories",
    }
)


def may_be_set(name: str) -> bool:
    """Whether it has the form of a setting's name, and is not ours to decide."""
    return name.lower() not in _OURS and re.fullmatch(r"[A-Za-z_][\w.]*", name) is not None
