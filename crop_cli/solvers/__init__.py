"""Algorithms that place jobs and bound what any placement can reach."""
