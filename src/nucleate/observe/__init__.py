"""What to look at in a run, after integration: centers so far."""
