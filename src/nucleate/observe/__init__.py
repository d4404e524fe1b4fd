"""What to look at in a run, after integration: centers, clusters, merges, whole lives, consumption,
stationarity, energies, and your own."""
