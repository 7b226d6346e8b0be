"""What is expected of every run, each with the query that feeds it and the words that report it.

The queries count from the plan and give one row for each thing that is judged: a trial, a control
group of a trial, a workload, or the run. They are small whatever the number of requests. Each
expectation is about one column of them, which must never be NULL.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Expectation:
    """One expectation.

    Attributes:
        name: short name, the same in every run.
        statement: what is expected, in words.
        query: name of the statement that gives the rows.
        column: what is judged in each row, and
        value: what it must be; a value in braces names another column that it must equal.
        message, observed, expected: how a row that fails is reported; names in braces are columns.
        unit: what the rows are.
        when_empty: what it means that there is nothing to judge.
    """

    name: str
    statement: str
    query: str
    column: str
    value: int | bool | str
    message: str
    observed: str
    expected: str
    unit: str = "trials"
    when_empty: str = "there is nothing to judge"

    @property
    def other_column(self) -> str | None:
        """The column that `column` must equal, if it is not a fixed value."""
        if isinstance(self.value, str) and self.value.startswith("{"):
            return self.value.strip("{}")
        return None


EXPECTATIONS = (
    Expectation(
        name="trials_measured",
        statement="every planned trial has an accepted attempt",
        query="judged_trials",
        column="accepted",
        value=True,
        message="{subject}: {status}, attempts: {attempts}",
        observed="{status}",
        expected="accepted",
    ),
    Expectation(
        name="requests_per_trial",
        statement="every trial has as many requests as planned, or as its generator counted in a "
        "closed loop, in its window and in all",
        query="judged_trials",
        column="whole",
        value=True,
        message="{subject}: {measured} of {planned_measured} {source} requests in the window, "
        "{requests} of {planned_requests} in all",
        observed="{measured} in the window, {requests} in all",
        expected="{planned_measured} in the window, {planned_requests} in all",
    ),
    Expectation(
        name="room_for_requests",
        statement="no closed loop was stopped early for want of room for its requests",
        query="judged_trials",
        column="full",
        value=False,
        message="{subject}: stopped after {requests} requests, for which there was no more room",
        observed="stopped early",
        expected="not stopped early",
    ),
    Expectation(
        name="requests_total",
        statement="the measured windows of all open loops together have as many requests as "
        "planned",
        query="judged_run",
        column="measured",
        value="{planned_measured}",
        message="{subject}: {measured} of {planned_measured} planned requests",
        observed="{measured}",
        expected="{planned_measured}",
        unit="run",
    ),
    Expectation(
        name="requests_unique",
        statement="no request is there twice: run, trial, attempt and seq are unique",
        query="judged_trials",
        column="doubled",
        value=0,
        message="{subject}: requests there more than once: {doubled}",
        observed="{doubled} too many",
        expected="0 too many",
    ),
    Expectation(
        name="outcomes_allowed",
        statement="every measured request ended in a way that the experiment allows",
        query="judged_outcomes",
        column="allowed",
        value=True,
        message="{subject}: requests that ended as {outcome}: {requests}",
        observed="{requests} x {outcome}",
        expected="only {allowed_outcomes}",
        unit="outcomes of trials",
        when_empty="no request was measured",
    ),
    Expectation(
        name="requests_in_their_window",
        statement="requests are marked as warm-up exactly when they were planned before the window",
        query="judged_trials",
        column="mismarked",
        value=0,
        message="{subject}: requests marked wrongly or planned after the window: {mismarked}",
        observed="{mismarked} wrong",
        expected="0 wrong",
    ),
    Expectation(
        name="requests_not_early",
        statement="no request was sent before its planned time",
        query="judged_trials",
        column="early",
        value=0,
        message="{subject}: requests sent before their time: {early}",
        observed="{early} early",
        expected="0 early",
    ),
    Expectation(
        name="instants_ordered",
        statement="the instants of every request are in order",
        query="judged_trials",
        column="disordered",
        value=0,
        message="{subject}: requests with instants out of order: {disordered}",
        observed="{disordered} out of order",
        expected="0 out of order",
    ),
    Expectation(
        name="phases_sum",
        statement="the phases of every request that is done sum exactly to its end to end",
        query="judged_trials",
        column="without_sum",
        value=0,
        message="{subject}: requests without an instant or the sum: {without_sum}",
        observed="{without_sum} without the sum",
        expected="0 without the sum",
    ),
    Expectation(
        name="schedules_equal",
        statement="all trials of a workload in a block had the same planned send times",
        query="judged_schedules",
        column="schedules",
        value=1,
        message="{subject}: different schedules: {schedules}",
        observed="{schedules} schedules",
        expected="1 schedule",
        unit="workloads of blocks",
        when_empty="no trial had planned send times",
    ),
    Expectation(
        name="counters_monotone",
        statement="no counter of a control group went back",
        query="judged_counters",
        column="backward",
        value=0,
        message="{subject}: readings below the one before: {backward}",
        observed="{backward} steps back",
        expected="0 steps back",
        unit="control groups of trials",
        when_empty="no control group could be read",
    ),
    Expectation(
        name="limits_in_force",
        statement="every CPU limit was in force on both sides of the window",
        query="judged_limits",
        column="in_force",
        value=True,
        message="{subject}: {before} before the window and {after} after it, asked for {asked}",
        observed="{before} before, {after} after",
        expected="{asked}",
        unit="limits of trials",
        when_empty="no CPU limit was to be in force",
    ),
    Expectation(
        name="throttling_counted",
        statement="throttling was counted at both edges of every limited window",
        query="judged_limits",
        column="edges",
        value=2,
        message="{subject}: throttling was counted at {edges} of 2 edges",
        observed="{edges} edges",
        expected="2 edges",
        unit="limits of trials",
        when_empty="no CPU limit was to be in force",
    ),
    Expectation(
        name="no_maintenance",
        statement="the server did no maintenance (autovacuum, checkpoint) within a trial",
        query="judged_trials",
        column="maintenance",
        value="none",
        message="{subject}: maintenance within it: {maintenance}",
        observed="{maintenance}",
        expected="none",
    ),
)
