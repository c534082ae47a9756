"""Tests of the checkout itself: chart, pages, scripts, generated files."""
