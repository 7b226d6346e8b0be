"""The hiccup meter's process: does the machine let a process run when it asks to?

Run as a file of its own (`python -I -S hiccup_probe.py`), so that it imports next to nothing.
It is told the window on standard input, as two instants of the monotonic clock in ns. A thread
on each CPU then sleeps to fixed instants of that window, and how late it wakes is how long that
CPU was away. At real-time priority nothing that is under test can be the cause: what is seen is
the host, or the machine below it. What was seen leaves as one line of JSON.
"""

import json
import os
import sys
import threading
import time

PERIOD_NS = 4_000_000
"""From wake to wake over all CPUs together: a wake costs 30 to 80 us, so this is one to
two hundredths of a core, whatever the number of CPUs."""

LATE_NS = 3_000_000
"""A wake that is later than this counts as a hiccup."""

MOST_CPUS = 8
_PRIORITY = 1


class Probe:
    """Watches one CPU; all of it in ns."""

    def __init__(self, cpu: int, period_ns: int) -> None:
        self.cpu = cpu
        self.period_ns = period_ns
        self.wakes = self.late = self.late_ns = self.max_ns = 0
        self.stopped = False

    def watch(self, start_ns: int, end_ns: int) -> None:
        """Sleep to every instant of the window that is not past already."""
        os.sched_setaffinity(0, {self.cpu})
        clock, sleep, period_ns = time.monotonic_ns, time.sleep, self.period_ns
        due_ns = start_ns
        while due_ns < end_ns and not self.stopped:
            sleep(max(0, due_ns - clock()) / 1e9)
            lateness_ns = clock() - due_ns
            self.wakes += 1
            self.max_ns = max(self.max_ns, lateness_ns)
            if lateness_ns > LATE_NS:
                self.late += 1
                self.late_ns += lateness_ns
            due_ns += period_ns * (1 + max(0, lateness_ns) // period_ns)


def take_priority() -> bool:
    """Run before everything else, where that is allowed; say whether it is."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    except OSError:
        return False
    return True


def stop_at_end_of_input(probes: list[Probe]) -> None:
    """The window may close early: then the input ends. Unbuffered, so that it can be left alone."""
    os.read(0, 1)
    for probe in probes:
        probe.stopped = True


def main() -> None:
    """Watch the window that standard input names; an end of input means nobody asks."""
    real_time = take_priority()
    cpus = sorted(os.sched_getaffinity(0))[:MOST_CPUS]
    probes = [Probe(cpu, PERIOD_NS * len(cpus)) for cpu in cpus]
    window = sys.stdin.readline().split()
    if not window:
        return
    start_ns, end_ns = map(int, window)
    used_ns = time.process_time_ns()
    threads = [threading.Thread(target=probe.watch, args=(start_ns, end_ns)) for probe in probes]
    threading.Thread(target=stop_at_end_of_input, args=(probes,), daemon=True).start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    document = {
        "real_time": real_time,
        "cpus": len(cpus),
        "period_ns": PERIOD_NS * len(cpus),
        "late_above_ns": LATE_NS,
        "wakes": sum(probe.wakes for probe in probes),
        "late": sum(probe.late for probe in probes),
        "late_total_ns": sum(probe.late_ns for probe in probes),
        "max_ns": max(probe.max_ns for probe in probes),
        "cpu_ns": time.process_time_ns() - used_ns,
    }
    sys.stdout.write(json.dumps(document) + "\n")


if __name__ == "__main__":
    main()
