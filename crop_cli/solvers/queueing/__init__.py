"""What placement rules of other schedulers share: the queue, what is free, counts that a job's constraints allow."""
