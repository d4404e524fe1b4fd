"""Many runs: a study as data, a random stream per run, blocks that survive a crash, one store at the end;
threads or a Dask cluster."""
