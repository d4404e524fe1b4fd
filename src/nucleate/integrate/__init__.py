"""From a model and a start to a Run: explicit solvers, the record, simulate."""
