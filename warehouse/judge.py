"""Great Expectations as a function: rows and an expectation in, its report out.

Importing this module takes seconds. The context lives in memory and knows no store, no file, no
Data Docs; set `GX_ANALYTICS_ENABLED=false` before the import.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import great_expectations as gx
import pandas as pd
from great_expectations.data_context.types.base import ProgressBarsConfig
from great_expectations.datasource.fluent.interfaces import Batch
from great_expectations.expectations.core.expect_column_pair_values_to_be_equal import (
    ExpectColumnPairValuesToBeEqual,
)
from great_expectations.expectations.core.expect_column_values_to_be_in_set import (
    ExpectColumnValuesToBeInSet,
)
from great_expectations.expectations.expectation import Expectation as GxExpectation

from warehouse.expectations import Expectation

Outcome = dict[str, Any]
Judge = Callable[[pd.DataFrame, Expectation], Outcome]


def make_judge() -> Judge:
    """A judge with a context of its own; it keeps the rows that it first saw of each query."""
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    source = context.data_sources.add_pandas("warehouse")
    batches: dict[str, Batch] = {}

    def judge(rows: pd.DataFrame, expectation: Expectation) -> Outcome:
        query = expectation.query
        if query not in batches:
            whole = source.add_dataframe_asset(query).add_batch_definition_whole_dataframe("rows")
            batches[query] = whole.get_batch({"dataframe": rows})
        report = batches[query].validate(_wanted(expectation), result_format="COMPLETE")
        return dict(report.to_json_dict())

    return judge


def _wanted(expectation: Expectation) -> GxExpectation:
    if other := expectation.other_column:
        return ExpectColumnPairValuesToBeEqual(column_A=expectation.column, column_B=other)
    return ExpectColumnValuesToBeInSet(column=expectation.column, value_set=[expectation.value])
