"""Two families of counterexamples to Conjecture 1 that can be checked by hand (docs/conjectures.md): two
tokens on the circle rest exactly, the first at xi = e_1, the second at x = (-24/25, 7/25), and both attract.

    Q = K = I,                  V = (l, -4/3; 0, l - 1),  l = (4/3) e^{49 beta/25},     0 <= beta < 75/28
    Q = I, K = diag(1, 3),      V = diag(l, l - 1),       l = (24/25) e^{1323 beta/625},  beta > 625/1704

The rates are -1 for token 1 and, with 1 - a the attention that token 2 pays to itself,
    (1 - a) (7/25) (28 beta/75 - 1)     and     -(1 - a) (49/625) (1704 beta/625 - 1).

Here both are checked in rational numbers.  With E = e^{beta <x - e_1, A x>}, A = K^T Q, so that 1 - a =
E/(1 + E), all that is asked is polynomial in E and beta once fractions are cleared, of a degree below the
number of values tried: what holds at these holds for all.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from nucleate.attention import Attention
from nucleate.checks import Array

__all__ = ["FAMILIES", "POINT", "ExactSink", "exactly", "sink_model"]

Matrix = tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]
Vector = tuple[Fraction, Fraction]
POINT: Vector = (Fraction(-24, 25), Fraction(7, 25))  # where token 2 rests
XI: Vector = (Fraction(1), Fraction(0))
# the velocity has degree 2 in E and none in beta, the rate times (1 + E)^2 degree 3 in E and 1 in beta
E_VALUES = tuple(Fraction(i, 3) for i in range(3, 11))
BETA_VALUES = tuple(Fraction(i, 7) for i in range(4))


@dataclass(frozen=True)
class ExactSink:
    """One of the families."""

    name: str
    words: str
    key_scale: int  # K = diag(1, key_scale)
    factor: Fraction  # l = factor * E
    corner: Fraction  # V's entry above the diagonal
    low: Fraction  # it attracts for low <= beta < high, or low < beta
    high: Fraction | None

    @property
    def A(self) -> Matrix:
        """K^T Q."""
        return ((Fraction(1), Fraction(0)), (Fraction(0), Fraction(self.key_scale)))

    @property
    def exponent(self) -> Fraction:
        """<x - e_1, A x>, so that E = e^{beta exponent}."""
        Ax = _times(self.A, POINT)
        return (POINT[0] - 1) * Ax[0] + POINT[1] * Ax[1]

    def V(self, E: Fraction) -> Matrix:
        """The value matrix."""
        return ((self.factor * E, self.corner), (Fraction(0), self.factor * E - 1))

    def rate(self, beta: Fraction, E: Fraction) -> Fraction:
        """What is said above of token 2's rate."""
        own = E / (1 + E)
        if self.key_scale == 1:
            return own * Fraction(7, 25) * (Fraction(28, 75) * beta - 1)
        return -own * Fraction(49, 625) * (Fraction(1704, 625) * beta - 1)


FAMILIES = (
    ExactSink(
        "identity",
        "Q = K = I, V = (λ −4/3; 0 λ−1), λ = (4/3)e^{49β/25}, 0 ≤ β < 75/28",
        1,
        Fraction(4, 3),
        Fraction(-4, 3),
        Fraction(0),
        Fraction(75, 28),
    ),
    ExactSink(
        "scores",
        "Q = I, K = diag(1, 3), V = diag(λ, λ−1), λ = (24/25)e^{1323β/625}, β > 625/1704",
        3,
        Fraction(24, 25),
        Fraction(0),
        Fraction(625, 1704),
        None,
    ),
)


def exactly(sink: ExactSink) -> dict[str, bool]:
    """What is shown in rational numbers: x is a unit vector; both tokens rest; both rates are as said; they
    are negative on the interval of beta; V has two distinct positive eigenvalues there."""
    points = [(beta, E) for beta in BETA_VALUES for E in E_VALUES]
    found = [_rest_and_rates(sink.V(E), sink.A, beta, E) for beta, E in points]
    least = sink.low  # E = e^{beta exponent} >= 1 + beta exponent
    return {
        "unit": POINT[0] ** 2 + POINT[1] ** 2 == 1,
        "rests": all(one[0] == one[1] == 0 for one in found),
        "rates": all(
            one[2] == -1 and one[3] == sink.rate(beta, E)
            for one, (beta, E) in zip(found, points, strict=True)
        ),
        "attracts": _sign_on_interval(sink),
        "eigenvalues": sink.exponent > 0 and sink.factor * (1 + least * sink.exponent) > 1,
    }


def _sign_on_interval(sink: ExactSink) -> bool:
    """Token 2's rate is 1 - a > 0 times a linear function of beta, zero at the open end of the interval: its
    sign at one beta within is that at all."""
    E = Fraction(2)
    edge = sink.high if sink.high is not None else sink.low
    within = (sink.low + sink.high) / 2 if sink.high is not None else sink.low + 1
    return sink.rate(edge, E) == 0 and sink.rate(within, E) < 0


def _rest_and_rates(
    V: Matrix, A: Matrix, beta: Fraction, E: Fraction
) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """The velocities of tokens 1 and 2 along the circle, and the rates of small perturbations of each; E =
    e^{beta <x - e_1, A x>} is handed in."""
    x = POINT
    a = 1 / (1 + E)  # token 2's attention to token 1
    m = (a * XI[0] + (1 - a) * x[0], a * XI[1] + (1 - a) * x[1])
    along, pull = (-x[1], x[0]), _times(V, m)
    # token 2 moved along: its attention to token 1 changes by a (1 - a) (s_1' - s_2')
    Ax, Aalong = _times(A, x), _times(A, along)
    towards = Aalong[0]  # <e_1, A along>
    own = _dot(along, Ax) + _dot(x, Aalong)
    da = a * (1 - a) * beta * (towards - own)
    dm = ((1 - a) * along[0] + da * (XI[0] - x[0]), (1 - a) * along[1] + da * (XI[1] - x[1]))
    rate = _dot(along, _times(V, dm)) - _dot(x, pull)
    return V[1][0], _dot(along, pull), V[1][1] - V[0][0], rate


def _times(M: Matrix, v: Vector) -> Vector:
    return (M[0][0] * v[0] + M[0][1] * v[1], M[1][0] * v[0] + M[1][1] * v[1])


def _dot(v: Vector, w: Vector) -> Fraction:
    return v[0] * w[0] + v[1] * w[1]


def sink_model(sink: ExactSink, beta: float) -> Attention:
    """The model of a family at one beta, V rounded to doubles."""
    scale = float(sink.factor) * float(np.exp(beta * float(sink.exponent)))
    V: Array = np.array([[scale, float(sink.corner)], [0.0, scale - 1.0]])
    K = None if sink.key_scale == 1 else np.diag([1.0, float(sink.key_scale)])
    return Attention(beta, K=K, V=V)
