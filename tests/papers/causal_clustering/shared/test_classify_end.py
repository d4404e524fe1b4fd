"""How runs end, against a count token by token."""

import numpy as np
from support.small_items import made

from nucleate.papers.causal_clustering.shared.classify_end import classify_ends
from nucleate.theory.atlas import atlas


def test_ends_are_those_found_token_by_token() -> None:
    found = made("table1")
    for name in ("row2", "row3", "row5-oblique"):
        data = found.data[name]
        ends = classify_ends(data)
        for i, (V, x) in enumerate(zip(data["V"].values, data["x"].values, strict=True)):
            known = atlas(V)
            angles = [np.arccos(min(float(np.linalg.norm(known.basis.T @ token)), 1.0)) for token in x[-1]]
            # arccos near 1 is good to the root of a few roundings
            np.testing.assert_allclose(ends.angles[i], angles, atol=1e-7)
            moved = max(
                np.arccos(np.clip(frame[k] @ x[-1, k], -1, 1)) for frame in x for k in range(len(frame))
            )
            assert abs(ends.moved[i] - moved) < 1e-7
            if name == "row3":
                off = max(
                    min(np.linalg.norm(token - sign * known.basis[:, 0]) for sign in (1, -1))
                    for token in x[-1]
                )
                assert abs(ends.distance[i] - off) < 1e-9
            if name == "row2":
                start = data["start"].values[i, 0]
                values, vectors = np.linalg.eig(V)
                part = (vectors * (np.abs(values - 1) < 1e-6)) @ np.linalg.solve(vectors, start)
                point = part.real / np.linalg.norm(part.real)
                assert abs(ends.distance[i] - np.linalg.norm(x[-1] - point, axis=-1).max()) < 1e-9
