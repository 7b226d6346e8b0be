"""Reads the warehouse and writes HTML; the only place that knows Altair."""
