"""What ought to happen: the interaction function, exact solutions, counts, bounds, and the atlas of V."""
