"""How a run ends: the statuses, their numbers in compiled code, and what to do about each."""

__all__ = [
    "CANCELLED",
    "DONE",
    "INTERRUPTED",
    "MAX_STEPS",
    "NON_FINITE",
    "RUNNING",
    "STALLED",
    "STATUS",
    "STATUS_HELP",
    "TIME_LIMIT",
    "UNDERFLOW",
]

# What happened, then what to do about it.
STATUS_HELP: dict[str, str] = {
    "done": "The run reached its last time. Nothing needs to be done.",
    "max steps": (
        "The run used up max_steps before it reached its last time. Raise max_steps, loosen rtol, or ask for"
        " a shorter t."
    ),
    "stalled": (
        "The steps that the tolerance asks for became so short that doubles cannot add them to the time."
        ' Loosen rtol and atol, or over long times use method="auto". Where the norm is "pre" or "peri", look'
        " at run.norms: a token of length zero has no direction."
    ),
    "non-finite": (
        "A velocity was infinite or not a number. Make beta, Q, K or V smaller: a product of them does not"
        " fit into a double."
    ),
    "cancelled": (
        "The function progress or on_frames returned False. Run it again with one that does not, or go on"
        " with the frames there are."
    ),
    "time limit": (
        "The run took time_limit seconds before it reached its last time. Raise time_limit, loosen rtol, or"
        " ask for a shorter t."
    ),
    "interrupted": (
        "Ctrl-C ended the run before its last time. Run it again, or go on with the frames there are."
    ),
    "underflow": (
        "Some token feels only forces too small for a double, so it stands still where it should not. Trust"
        " the frames up to the standstill, and do not take it for an equilibrium; a smaller beta has stronger"
        " forces."
    ),
}

# Compiled code counts in these numbers, and stores of studies hold them: append, do not reorder.
STATUS = ("running", *STATUS_HELP)
RUNNING, DONE, MAX_STEPS, STALLED, NON_FINITE, CANCELLED, TIME_LIMIT, INTERRUPTED, UNDERFLOW = range(9)
