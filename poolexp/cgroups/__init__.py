"""Finds, creates, limits, reads and removes control groups, on every layout of the kernel's.

Version 1 has one tree of directories per controller; version 2 has one tree for all of them.
Hybrid systems have both, and then each counter is read from the tree that owns it.
"""

from poolexp.cgroups.counters import CounterReader, Counters
from poolexp.cgroups.groups import Group, control_groups
from poolexp.cgroups.layout import Hierarchy, Layout, layout
from poolexp.cgroups.limit import CpuLimit

__all__ = [
    "CounterReader",
    "Counters",
    "CpuLimit",
    "Group",
    "Hierarchy",
    "Layout",
    "control_groups",
    "layout",
]
