"""What is measured beside a trial, so that a spoilt one can be told from a sound one."""

from poolexp.meters.hiccups import HiccupMeter, hiccup_meter
from poolexp.meters.machine import Machine, MachineReading, machine_document, suspended_ns

__all__ = [
    "HiccupMeter",
    "Machine",
    "MachineReading",
    "hiccup_meter",
    "machine_document",
    "suspended_ns",
]
