"""Prices, and why a job is placed where it is or not at all: what a person asks after a solution is there."""
