"""Charts drawn by Altair from aggregates: plain rows in, a Vega-Lite specification out."""

from reports.charts.chart import Measure, Row, Rows, Spec, specification
from reports.charts.curves import curves_chart
from reports.charts.dots import Lanes, dots_chart
from reports.charts.order import order_chart
from reports.charts.ratios import ratios_chart
from reports.charts.stack import Stack, stack_chart
from reports.charts.trend import trend_chart

__all__ = [
    "Lanes",
    "Measure",
    "Row",
    "Rows",
    "Spec",
    "Stack",
    "curves_chart",
    "dots_chart",
    "order_chart",
    "ratios_chart",
    "specification",
    "stack_chart",
    "trend_chart",
]
