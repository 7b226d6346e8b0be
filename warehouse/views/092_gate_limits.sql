-- The gates and their limits: fixed, absolute, the same for every experiment, so that no limit can
-- follow from what was measured. What is observed must not exceed the threshold.
--
-- `excludes`: only causes outside the run. The whole block is left out, so that what is left out
-- cannot depend on a scenario. `limits`: what a scenario can cause itself. It stays, marked.
-- `warns`: said, nothing more.
CREATE VIEW gate_limits AS
SELECT
    number,
    gate,
    effect,
    label,
    threshold::DOUBLE AS threshold,
    unit,
    remedy,
    reason
FROM (
    VALUES
    (
        1, 'foreign_cpu', 'excludes', 'CPU time of other processes', 0.03, 'cores',
        'Stop what else runs on this machine, and measure again.',
        'Single windows with more of it had 99th percentiles several times those of their neighbours.'
    ),
    (
        2, 'harness_cpu', 'excludes', 'CPU time of the harness', 0.10, 'cores',
        'Give the machine another CPU, or run with less beside it.',
        'Watching must cost little beside what is watched; an idle Prefect server takes 0.06 cores.'
    ),
    (
        3, 'steal', 'excludes', 'CPU time taken by the machine below', 0.01, 'share',
        'Measure when the virtual machine''s host is quieter, or on one of its own.',
        'Stolen time lengthens every phase and is charged to nobody.'
    ),
    (
        4, 'hiccup_max', 'excludes', 'longest hiccup of the machine', 20, 'ms',
        'Look for power saving, swapping, or a busy host below this machine.',
        'Single stalls of 3 to 10 ms are ordinary on virtual machines and too short to move a mean.'
    ),
    (
        5, 'hiccup_total', 'excludes', 'share of the window spent in hiccups', 0.005, 'share',
        'Look for power saving, swapping, or a busy host below this machine.',
        'Many short stalls together move every percentile.'
    ),
    (
        6, 'suspend', 'excludes', 'time that the machine was suspended', 0, 'ms',
        'Keep the machine awake while it measures.',
        'No request can be told apart from the sleep.'
    ),
    (
        7, 'maintenance', 'excludes', 'checkpoints and vacuums of the server', 0, 'count',
        'Measure on a server whose autovacuum and timed checkpoints are off.',
        'They use the same CPU limit and disk, whenever they like.'
    ),
    (
        8, 'send_lag', 'limits', 'send lag p99, of each burst the first request', 1, 'ms',
        'Lower the rate, or give the generator more CPU.',
        'The clock starts at the planned time: a late sender would be taken for a slow database.'
    ),
    (
        9, 'generator_throttled', 'limits',
        'active periods in which the generator was stopped by its own limit', 0.05, 'share',
        'Raise the generator''s CPU limit, or lower the rate.',
        'A stopped generator sends late and reads answers late.'
    ),
    (
        10, 'loop_stall', 'limits', 'longest stall of the event loop, less the machine''s', 10, 'ms',
        'Lower the rate, or give the generator more CPU.',
        'While the loop stands still, answers wait unread and count as slow.'
    ),
    (
        11, 'connections', 'limits', 'connections lost or opened again', 0, 'count',
        'Look into the server''s log for why it closed them.',
        'A pool that opens connections meanwhile is not the pool that was asked for.'
    ),
    (
        12, 'backlog', 'limits', 'time to answer what piled up within the window', 50, 'ms',
        'Lower the rate: more is offered than this scenario serves.',
        'Latencies of a queue that grows tell the length of the window, not the system.'
    ),
    (
        13, 'collections', 'limits', 'garbage collections in the generator', 0, 'count',
        'Report it: the generator collects before the window, and not within it.',
        'A collection stops the sender for milliseconds.'
    ),
    (
        14, 'unfinished', 'limits', 'requests that were not done', 0.01, 'share',
        'Lower the rate, or lengthen the timeouts; the outcomes say what happened.',
        'Below 99 % of what was offered, the load was another one.'
    ),
    (
        15, 'generator_busy', 'limits', 'share of a CPU that each generator process used', 0.9,
        'share',
        'Use several generator processes, fewer workers, or less CPU to think.',
        'A process that computes all the time is itself the limit, and answers wait for it.'
    ),
    (
        16, 'burst_lag', 'warns', 'send lag of later requests of a burst in their end to end', 0.10,
        'share',
        'Keep it in mind, or give generator and database CPUs of their own.',
        'Backends that wake compete with the sender for the CPUs.'
    )
) AS limits (number, gate, effect, label, threshold, unit, remedy, reason)
