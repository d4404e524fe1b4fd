"""The files of tests that take longest, which `make test` begins first: two workers that end with small files
end at the same time.

The first two compile the kernels that most of the others use, one those of a single head, one those of the
family: together at the beginning they do not compile the same twice.
"""

LONG_FILES = (
    "contracts/test_bad_input.py",
    "contracts/test_family_laws.py",
    "studies/test_cluster.py",
    "papers/core/test_item.py",
    "papers/report/test_markdown.py",
    "papers/report/test_html.py",
    "integrate/test_interrupt.py",
    "contracts/test_wheel.py",
    "studies/test_crash.py",
    "kernels/test_heads.py",
    "models/test_real_weights.py",
    "contracts/test_invariants.py",
    "contracts/test_hostile_values.py",
    "kernels/test_code_cache.py",
    "papers/core/test_cache.py",
    "studies/test_study_fuzz.py",
    "papers/core/test_kills.py",
    "gpu/test_twins.py",
    "bench/test_ensemble.py",
    "kernels/test_large_beta.py",
    "integrate/test_causal_agreement.py",
    "kernels/test_circle_heads.py",
    "kernels/test_circle_batch.py",
    "contracts/test_pages.py",
    "explorer/test_server.py",
    "explorer/test_connections.py",
    "papers/core/test_runner.py",
    "models/test_header.py",
    "studies/test_block.py",
    "observe/test_merges.py",
    "theory/test_atlas.py",
    "contracts/test_determinism.py",
)
