"""`crop simulate`: a trace of jobs on a cluster under a placement policy, event by event, with failures."""
