"""Measures: plans trials, limits processes, paces requests, records every instant.

Knows no warehouse, no Prefect and no charts. Its product is the trial directory.
"""
