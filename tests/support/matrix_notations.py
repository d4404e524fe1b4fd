"""Every way to write a matrix, in three dimensions, and what is none."""

import json
from typing import Any

import numpy as np

from nucleate.checks import Array
from nucleate.parse.named_matrices import named_matrix

ROWS = [[1.0, 0.1, 0.0], [0.0, -0.5, 2.0], [1e-3, 0.0, 1.5]]
I3 = np.eye(3)

NOTATIONS: list[tuple[Any, Array]] = [
    (2.0, 2.0 * I3),
    (-3, -3.0 * I3),
    (1, I3),
    ("2.0", 2.0 * I3),
    ("-.5e-1", -0.05 * I3),
    ("identity", I3),
    (" +identity ", I3),
    ("-identity", -I3),
    ("0.5*identity", 0.5 * I3),
    ("-1.5e3 * identity", -1500.0 * I3),
    ([1, 1, -2], np.diag([1.0, 1.0, -2.0])),
    ("diag(1,1,-2)", np.diag([1.0, 1.0, -2.0])),
    ("diag( .5, 1e3 ,+0)", np.diag([0.5, 1000.0, 0.0])),
    ("[1, 1, -2]", np.diag([1.0, 1.0, -2.0])),
    (ROWS, np.array(ROWS)),
    (json.dumps(ROWS), np.array(ROWS)),
    ({"matrix": ROWS}, np.array(ROWS)),
    ({"preset": "identity"}, I3),
    ("minus-identity", -I3),
    ("row2", np.diag([1.0, 1.0, 0.3])),
    ({"preset": "row2"}, np.diag([1.0, 1.0, 0.3])),
    ("complex", named_matrix("complex", 3)),
    ("mirror", np.diag([-1.0, 1.0, 1.0])),
    ("gaussian", named_matrix("gaussian", 3, 0)),
    ("gaussian(7)", named_matrix("gaussian", 3, 7)),
    ({"preset": "gaussian", "seed": 7}, named_matrix("gaussian", 3, 7)),
    ("head(9007199254740992)", named_matrix("head", 3, 2**53)),
]

LONG = "1" * 200_000
REFUSED: list[Any] = [
    "", " ", "nan", "inf", "-inf", "1e999", "1_000", "٣", "0x10", "1,2,3", "twice*identity", "nan*identity",
    "*identity", "identity*2", "--identity", "Identity", "diag", "diag()", "diag(1,,2)", "diag(1,2,x)",
    "diag(1,1,nan)", "diag(1,1,1e999)", "diag(1,2)", "diag(1,2,3", "diag(1,2,3,4)", "[", "[1,2", "[1,2,NaN]",
    "[1,2,Infinity]", "[[1,2],[3]]", "[[1,2,3]]", "[]", "[[]]", "[[[]]]", '["1","2","3"]', "[true,true,true]",
    "[null,1,2]", '[{"a":1},1,2]', "row9", "row3(1)", "rowe3", "gaussian(-1)", "gaussian(1.5)", "gaussian(7",
    "gaussian(9007199254740993)", "gaussian(99999999999999999999)", "{", "{}", "{a = 1}", "{preset = 'row9'}",
    "{preset = 'row3', seed = 1}", "{preset = 'gaussian', seed = -1}", "{preset = 'gaussian', sed = 1}",
    "{matrix = 3}", "{matrix = 'row3'}", "{matrix = [[1,2],[3]]}", "{matrix = [[1]], preset = 'row3'}",
    "{random = 'nothing'}", "{random = ['gaussian']}", "{random = 'gaussian', scale = nan}", "{a = 1}\nb = 2",
    "__import__('os')", "np.eye(3)", LONG + "x", "diag(" + LONG, "[" * 100_000, "[" * 300 + "]" * 300,
    "{a=" * 20_000, LONG, "M.npz", "studies", ".", "/dev/zero",
    True, [True, True, True], ["1", "2", "3"], [[1, 2], [3]], [[1, 2, 3]], [], [[]], [1, 2], [10**400, 1, 1],
    {}, {"a": 1}, {"preset": "row9"}, {"preset": ["row3"]}, {"preset": "row3", "seed": 1}, {"matrix": 3},
    {"preset": "gaussian", "seed": 1.5}, {"preset": "gaussian", "seed": True}, {"matrix": [[1, 2], [3]]},
]  # fmt: skip
