"""Placement rules of existing schedulers, one module each; the module `kueue_best_fit` is the solver `kueue-best-fit`.

A module defines `place`, a function under `job_by_job` or `whole_queue` (crop_cli.solvers.queueing.baseline). The first
line of its docstring is the solver's summary.
"""
