"""The same work done by others, measured side by side in one run: time, ratio and accuracy."""
