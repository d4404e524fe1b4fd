"""Lemma 5.3: causal attention on the circle is a sequential gradient flow; each token goes down its own
energy, and no energy serves all."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nucleate.checks import Array
from nucleate.papers.core.figure_layout import sheet
from nucleate.papers.core.item import Data, Item, Numbers, Parameters, Slip, Verdict
from nucleate.papers.core.numbers import Number, exact, mean_of, share_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

    from nucleate.papers.core.cache import Desk

FROZEN = 3  # in every configuration of the first part
# of the complex-step derivative: its square is lost against 1, so that the derivative is good to rounding
STEP = 1e-30
ROUNDINGS = 16.0  # times max(1, beta) eps is what a velocity may be off by
RISE = 1e-6  # of its depth, from one frame to the next, is when an energy rises
# of the terms compared; differences of fourth order between frames a thousandth apart leave less than 1e-8
BALANCE = 1e-6
UP = 1e-12  # what rounding may make of a product that is never positive


def run(desk: "Desk") -> Data:
    """Random configurations, and energies along runs."""
    p = desk.p
    data = {"identity": desk.dataset("identity", lambda: identity(p["betas"], p["configurations"], p["n"]))}
    desk.at(0.3)
    data["falls"] = desk.dataset("falls", lambda: falls(p["beta"], p["starts"], p["n"], p["t"]))
    return data


def gradients(phi: Array, theta: Array, a: Array, beta: float, factor: float) -> tuple[Array, Array]:
    """(dE_k/dphi_k, Z_k), (b, n) each, with E_k = -factor (sum over earlier and frozen tokens), by a complex
    step: no derivative is worked out."""
    n = phi.shape[-1]
    z = phi[:, :, None] + 1j * STEP  # (b, n, 1) every token a little off the real line
    earlier = np.tri(n, k=-1)  # (n, n) j < k
    to_tokens = (np.exp(beta * (np.cos(z - phi[:, None, :]) - 1.0)) * earlier).sum(-1)  # (b, n)
    to_frozen = (np.exp(beta * (np.cos(z - theta[:, None, :]) - 1.0)) * a[:, None, :]).sum(-1)  # (b, n)
    return -factor * (to_tokens + to_frozen).imag / STEP, 1.0 + (to_tokens + to_frozen).real


def identity(betas: list[float], configurations: int, n: int) -> "Dataset":
    """Random tokens and frozen tokens: phi_k' by the equation and by the compiled kernels, and
    -(dE_k/dphi_k)/Z_k with the factor 1/beta and without."""
    import xarray

    from nucleate.attention import Attention, Frozen
    from nucleate.kernels.dispatch import drift

    rng = np.random.default_rng(53)
    names = ("equation", "compiled", "gradient", "printed", "lopsided")
    rows: dict[str, list[Array]] = {name: [] for name in names}
    for beta in betas:
        phi = _bunched(rng, configurations, n, beta)  # (b, n)
        theta, a = (
            rng.uniform(-np.pi, np.pi, (configurations, FROZEN)),
            rng.uniform(1.0, 5.0, (configurations, FROZEN)),
        )
        model = Attention(np.full(configurations, beta), frozen=Frozen(_points(theta), a))
        slope, Z = gradients(phi, theta, a, beta, 1.0 / beta)
        rows["equation"].append(_turning(phi, drift(model, _points(phi), "reference")))
        rows["compiled"].append(_turning(phi, drift(model, _points(phi), "pairwise")))
        rows["gradient"].append(-slope / Z)
        rows["printed"].append(-gradients(phi, theta, a, beta, 1.0)[0] / Z)
        rows["lopsided"].append(_lopsided(phi, beta))
    axes = ("beta", "configuration", "token")
    return xarray.Dataset(
        {name: (axes[: 1 + np.ndim(column[0])], np.stack(column)) for name, column in rows.items()},
        {"beta": np.array(betas)},
    )


def _bunched(rng: np.random.Generator, b: int, n: int, beta: float) -> Array:
    """Angles (b, n): half of the tokens anywhere, half within a few beta^(-1/2) of one of these, where forces
    are strong."""
    phi = rng.uniform(-np.pi, np.pi, (b, n))
    phi[:, n // 2 :] = phi[:, : n - n // 2] + 2.0 * min(1.0, beta**-0.5) * rng.standard_normal(
        (b, n - n // 2)
    )
    return phi


def _points(phi: Array) -> Array:
    return np.stack([np.cos(phi), np.sin(phi)], axis=-1)


def _turning(phi: Array, v: Array) -> Array:
    """phi' from the velocity v (..., 2) of the point at angle phi."""
    return np.asarray(-np.sin(phi) * v[..., 0] + np.cos(phi) * v[..., 1])


def _lopsided(phi: Array, beta: float) -> Array:
    """(b,) how far d(Z_k phi_k')/dphi_j is from its mirror image in k and j, which it would equal if one
    energy drove all tokens.

    The numerator of token k is the sum over j < k of h(phi_j - phi_k): its derivative by phi_j is g, that of
    token j's by phi_k is 0.
    """
    from nucleate.theory.interaction import interaction_slope

    g = interaction_slope(phi[:, None, :] - phi[:, :, None], beta) * np.tri(phi.shape[-1], k=-1)  # (b, n, n)
    return np.asarray(np.abs(g - g.swapaxes(1, 2)).max((1, 2)))


def falls(beta: float, starts: int, n: int, t: float) -> "Dataset":
    """Energies along runs from uniform starts; and the balance of dE_k/dt at one time of each, by
    differences."""
    import xarray

    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.observe.energies import token_energies
    from nucleate.papers.core.cache import finished
    from nucleate.sphere import uniform
    from nucleate.studies.points import stream

    model = Attention(beta)
    x0 = np.stack([uniform(n, 2, stream(53, start)) for start in range(starts)])  # (b, n, 2)
    times = np.concatenate([[0.0], np.geomspace(1e-2, t, 240)])
    run = finished(simulate(model, x0, t, save=times))
    x = run.x[:, np.searchsorted(times, 1.0)]  # (b, n, 2) a time at which all move
    return xarray.Dataset(
        {
            "energy": (("start", "time", "token"), token_energies(model, run.x), {"long_name": "E_k"}),
            "done": ("start", np.array([status == "done" for status in run.status], dtype=np.int8)),
            **balance(beta, x),
        },
        {"time": times},
    )


def balance(beta: float, x: Array) -> dict[str, tuple[tuple[str, str], Array]]:
    """dE_k/dt along a short run from x, (b, n), and its two parts: -Z_k phi_k'^2, and what earlier tokens
    bring by moving."""
    from nucleate.attention import Attention
    from nucleate.integrate.simulate import simulate
    from nucleate.kernels.dispatch import drift
    from nucleate.observe.energies import token_energies
    from nucleate.theory.interaction import interaction

    model, step = Attention(beta), 1e-3
    ahead = simulate(model, x, 4.0 * step, save=step * np.arange(5), rtol=1e-12, atol=1e-13).x  # (b, 5, n, 2)
    E = token_energies(model, ahead)  # (b, 5, n)
    middle = ahead[:, 2]  # (b, n, 2)
    phi = np.arctan2(middle[..., 1], middle[..., 0])  # (b, n)
    speed = _turning(phi, drift(model, middle))  # (b, n)
    # (b, n, n) h(phi_j - phi_k), j < k
    pull = interaction(phi[:, None, :] - phi[:, :, None], beta) * np.tri(phi.shape[-1], k=-1)
    axes = ("start", "token")
    return {
        "rate": (axes, (8.0 * (E[:, 3] - E[:, 1]) - (E[:, 4] - E[:, 0])) / (12.0 * step)),
        "own": (axes, -pull.sum(-1) * speed),  # dE_k/dphi_k phi_k' = -Z_k phi_k'^2
        "brought": (axes, (pull * speed[:, None, :]).sum(-1)),  # dE_k/dphi_j = h(phi_j - phi_k)
    }


def measure(data: Data, p: Parameters) -> dict[str, Number]:
    """The identity, its printed form, and which energies rise."""
    return identity_numbers(data["identity"]) | _along(data["falls"], p)


def identity_numbers(known: "Dataset") -> dict[str, Number]:
    """How far gradients are from velocities, with the factor 1/beta and without."""
    beta, v = known["beta"].values, known["equation"].values
    allowed = ROUNDINGS * np.finfo(float).eps * np.maximum(1.0, beta)[:, None, None]  # (betas, 1, 1)
    # (betas, b, n)
    off = {name: np.abs(known[name].values - v) / allowed for name in ("gradient", "compiled", "printed")}
    ratio = np.array([_ratio(known["printed"].values[i], v[i]) for i in range(len(beta))])
    return {
        "velocities": exact(
            v.size, "velocities compared, β from " + f"{beta.min():g} to {beta.max():g}, with frozen tokens"
        ),
        "identity_error": exact(
            off["gradient"].max(),
            f"largest difference of −(∂E_k/∂φ_k)/Z_k from φ_k', in units of {ROUNDINGS:g} max(1, β) ε",
        ),
        "compiled_error": exact(off["compiled"].max(), "the same for the compiled kernel"),
        "printed_error": exact(
            off["printed"][beta != 1.0].max(),
            "the same without the factor 1/β, as printed, for β ≠ 1; a misprint if above 1",
            expected=0.0,
        ),
        "printed_ratio": exact(
            np.abs(ratio / beta - 1.0).max(),
            "largest relative difference from β of the printed gradient over φ_k'",
            expected=0.0,
        ),
        "lopsided": exact(
            known["lopsided"].values.min(),
            "least asymmetry of ∂(Z_k φ_k')/∂φ_j over all configurations; 0 if one energy drove all",
        ),
    }


def _along(along: "Dataset", p: Parameters) -> dict[str, Number]:
    """Energies along runs."""
    E = along["energy"].values  # (starts, time, n)
    depth = np.maximum(-E.min((0, 1)), 1.0 / p["beta"])  # (n,)
    rises = (np.diff(E, axis=1) > RISE * depth).any(1)  # (starts, n)
    rate, own, brought = (along[name].values for name in ("rate", "own", "brought"))
    gap = np.abs(rate - own - brought) / np.maximum(np.abs(own) + np.abs(brought), 1e-3)
    alone = rises[:, 1]  # token 2 sees only token 1, which rests
    total = np.diff(E.sum(-1), axis=1) > RISE * depth.sum()
    return {
        "balance": exact(
            gap.max(),
            "largest error of dE_k/dt = −Z_k φ_k'² + Σ_{j<k} h(φ_j − φ_k) φ_j', of the terms compared",
            expected=0.0,
        ),
        "own_sign": exact((own > UP).sum(), "tokens whose own motion raises their energy", expected=0.0),
        "alone_rises": share_of(
            int(alone.sum()),
            len(alone),
            "runs in which the energy of token 2, which sees only the resting token 1, rises",
            0.0,
        ),
        "later_rises": mean_of(
            rises[:, 2:].mean(1), "share of tokens from the third on whose energy rises at some time"
        ),
        "last_rises": share_of(
            int(rises[:, -1].sum()),
            len(rises),
            f"runs in which the energy of token {E.shape[-1]} rises at some time",
        ),
        "total_rises": share_of(
            int(total.any(1).sum()), len(total), "runs in which the sum of all energies rises at some time"
        ),
        "done": share_of(
            int(along["done"].values.sum()), along.sizes["start"], f"runs that reached t = {p['t']:g}", 1.0
        ),
    }


def _ratio(printed: Array, v: Array) -> float:
    """printed / v over all velocities (b, n), the strong ones counting most: least squares."""
    return float((printed * v).sum() / (v * v).sum())


def verdicts(numbers: Numbers, p: Parameters) -> tuple[Verdict, ...]:
    """By the criteria of the item."""
    n = {name: number.value for name, number in numbers.items()}
    same = n["identity_error"] <= 1.0 and n["compiled_error"] <= 1.0
    alone = numbers["alone_rises"].count or (0, 0)
    steps = n["own_sign"] == 0 and n["balance"] <= BALANCE and n["alone_rises"] == 0 and n["done"] == 1
    return (
        Verdict(
            "φ_k' = −(∂E_k/∂φ_k)/Z_k, with the factor 1/β in E_k",
            "agrees" if same else "disagrees",
            f"over {n['velocities']:.0f} velocities the largest difference is {n['identity_error']:.2f} of"
            f" {ROUNDINGS:g} max(1, β) roundings; without the factor it is {n['printed_error']:.0e} of them",
        ),
        Verdict(
            "the flow is sequential: E_k falls by token k's own motion, and rises only by that of earlier"
            " tokens",
            "agrees" if steps else "disagrees",
            f"dE_k/dt splits into the two to {n['balance']:.0e}, the first part is never positive; token 2's"
            f" energy rises in {alone[0]} of {alone[1]} runs, that of later tokens at some time in"
            f" {n['later_rises']:.0%} of cases",
        ),
        Verdict(
            "there is no single energy that all tokens go down (ours)",
            "agrees" if n["lopsided"] > ROUNDINGS * 1e-13 and n["later_rises"] > 0 else "disagrees",
            f"∂(Z_k φ_k')/∂φ_j differs from its mirror image by {n['lopsided']:.2g} at least, so Z_k φ_k' is"
            f" no gradient; the sum of all E_k rises at some time in {n['total_rises']:.0%} of runs",
        ),
    )


def slips(numbers: Numbers) -> tuple[Slip, ...]:
    """The factor 1/beta."""
    if numbers["printed_error"].value <= 1.0:
        return ()
    evidence = (
        f"without the factor −(∂E_k/∂φ_k)/Z_k is β times φ_k' (to {numbers['printed_ratio'].value:.0e}) at"
        f" every β tried; with it the two are equal to rounding ({numbers['identity_error'].value:.2f} of"
        " what rounding allows)"
    )
    return (
        Slip(
            "Lemma 5.3: the energies E_k without the factor 1/β",
            "E_k = −(1/β)(…) gives causal attention",
            evidence,
        ),
    )


def draw(data: Data, numbers: Numbers, p: Parameters) -> "dict[str, Figure]":
    """The ratio of gradient and velocity; energies over time; how often they rise."""
    figure = sheet(11.0, 4.2)
    ratio, time, share = figure.subplots(1, 3, width_ratios=[0.9, 1.4, 0.9])
    _draw_ratio(ratio, data)
    _draw_energies(time, data, p)
    _draw_share(share, data, p)
    return {"lemma5.3": figure}


def _draw_ratio(ax: Any, data: Data) -> None:
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette, known = tidy(ax), data["identity"]
    beta, v = known["beta"].values, known["equation"].values
    for name, words, mark, colour in (
        ("printed", "as printed", "s", palette.grey(0.6)),
        ("gradient", "with the factor 1/β", "o", palette.red),
    ):
        ax.plot(
            beta,
            [_ratio(known[name].values[i], v[i]) for i in range(len(beta))],
            mark,
            color=colour,
            markersize=6,
            label=words,
        )
    ax.plot(beta, beta, color=palette.grey(0.6), linewidth=0.9, zorder=0)
    ax.axhline(1.0, color=palette.red, linewidth=0.9, zorder=0)
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="β",
        ylabel=r"$-Z_k^{-1}\,\partial E_k/\partial\varphi_k$  over  $\varphi_k'$",
    )
    ax.set_title("gradient over velocity", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="upper left")


def _draw_energies(ax: Any, data: Data, p: Parameters) -> None:
    """Energies of some tokens of the run in which most rise, over their number of neighbours; what rises is
    red."""
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette, along = tidy(ax), data["falls"]
    E, t = along["energy"].values, along["time"].values
    depth = np.maximum(-E.min((0, 1)), 1.0 / p["beta"])
    start = int((np.diff(E, axis=1) > RISE * depth).any(1).sum(1).argmax())
    n = E.shape[-1]
    colours = palette.tokens(n)
    for k in sorted({1, *np.linspace(2, n - 1, min(8, n - 2)).astype(int)}):
        y = p["beta"] * E[start, :, k] / k  # (time,) between -1 and 0
        ax.plot(t[1:], y[1:], color=colours[k], linewidth=1.2)
        up = np.append(np.diff(y) > RISE, False)
        ax.plot(
            t[1:],
            np.where(up | np.append(False, up[:-1]), y, np.nan)[1:],
            color=palette.red,
            linewidth=2.4,
            zorder=4,
        )
    ax.plot([], [], color=colours[1], linewidth=1.2, label="early token")
    ax.plot([], [], color=colours[-1], linewidth=1.2, label="late token")
    ax.plot([], [], color=palette.red, linewidth=2.4, label="rising")
    ax.set(
        xscale="log", xlim=(t[1], t[-1]), ylim=(-1.04, 0.04), xlabel="time", ylabel=r"$\beta E_k\,/\,(k-1)$"
    )
    ax.set_title(f"energies of one run, β = {p['beta']:g}", fontsize=SMALL_POINTS + 1)
    ax.legend(fontsize=SMALL_POINTS, frameon=False, loc="lower left")


def _draw_share(ax: Any, data: Data, p: Parameters) -> None:
    from nucleate.plot.styles import SMALL_POINTS, tidy

    palette, E = tidy(ax), data["falls"]["energy"].values
    depth = np.maximum(-E.min((0, 1)), 1.0 / p["beta"])
    share = (np.diff(E, axis=1) > RISE * depth).any(1).mean(0)  # (n,)
    k = np.arange(1, len(share) + 1)
    ax.bar(k[1:], share[1:], color=palette.grey(0.45), width=0.8)
    ax.plot(k[1:2], share[1:2], "o", color=palette.red, markersize=6, clip_on=False, zorder=4)
    ax.plot(k[1:2].repeat(2), [0.02, 0.6], color=palette.grey(0.6), linewidth=0.8)
    ax.text(
        2.0,
        0.62,
        "token 2, before which only the\nresting first one stands: never",
        fontsize=SMALL_POINTS,
        color=palette.ink,
        ha="left",
        va="bottom",
    )
    ax.set(xlim=(1, len(share) + 1), ylim=(0.0, 1.0), xlabel="token k", ylabel="share of runs")
    ax.set_title("whose energy rises at some time", fontsize=SMALL_POINTS + 1)


ITEM = Item(
    key="lemma5.3",
    title="Lemma 5.3: a sequential gradient flow",
    statement=(
        "On the circle with Q = K = V = I and frozen tokens θ_j with weights a_j, every token goes down an"
        " energy of its own: φ_k' = −(∂E_k/∂φ_k)/Z_k with E_k = −(1/β)(Σ_{j<k} e^{β(cos(φ_k−φ_j)−1)} + Σ_j"
        " a_j e^{β(cos(φ_k−θ_j)−1)}), in which earlier tokens are given."
    ),
    parameters={
        "d": 2,
        "betas": [0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 64.0, 200.0, 1000.0],
        "configurations": 200,
        "n": 32,
        "frozen": FROZEN,
        "beta": 16.0,
        "starts": 128,
        "t": 1e6,
    },
    quick={"configurations": 50, "starts": 32},
    choices=(
        (
            "The configurations: tokens anywhere, half of them within a few β^(−1/2) of another; three frozen"
            " tokens with weights between 1 and 5. Derivatives by a complex step of 1e-30, so that no formula"
            " for them is assumed."
        ),
        (
            "Energies are followed along runs at β = 16 from uniform starts. An energy rises if it does so by"
            " more than a millionth of its depth between frames."
        ),
        (
            "That no single energy exists is read as: no E with Z_k φ_k' = −∂E/∂φ_k for all k at once, for"
            " the mixed derivatives of these are not symmetric."
        ),
    ),
    criteria=(
        "First: agrees if −(∂E_k/∂φ_k)/Z_k is the velocity of the equation, and of the compiled kernel, to"
        f" {ROUNDINGS:g} max(1, β) roundings. Second: agrees if dE_k/dt is the sum of the two parts to"
        f" {BALANCE:g}, the first part is never positive, and the energy of token 2, before which only the"
        " resting first token stands, never rises. Third: agrees if the mixed derivatives are asymmetric in"
        " every configuration and some energy rises."
    ),
    captions={
        "lemma5.3": (
            "Left: the gradient of E_k over Z_k, as a multiple of the velocity; with the factor 1/β it is 1,"
            " as printed it is β. Middle: energies of some tokens of one run, first dark, last light, red"
            " where they rise. Right: share of runs in which the energy of token k rises at some time."
        )
    },
    run=run,
    measure=measure,
    verdicts=verdicts,
    draw=draw,
    slips=slips,
)
