"""Lands trial directories in DuckDB, transforms and validates them; the only place that does."""
