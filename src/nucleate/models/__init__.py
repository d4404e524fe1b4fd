"""Real transformers: a checkpoint's query, key, value and output matrices, head by head, and what they say in
the paper's terms."""
