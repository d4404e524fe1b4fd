"""What to look at in a run, after integration: centers, clusters, merges, whole lives."""
