"""How much a page may ask for: the size of a run, the time it takes, and how often it may ask."""

MAX_TOKENS = 10_000  # n
MAX_DIMENSION = 64  # d
MIN_SCENE_FRAMES, MAX_SCENE_FRAMES = 3, 1000
MAX_NUMBERS = 20_000_000  # n * d * frames
MAX_BETA = 1e6
MIN_TIME, MAX_TIME = 1e-6, 1e300  # of the end t of a run
MIN_CENTER_FACTOR, MAX_CENTER_FACTOR = 1e-3, 1000.0  # c in delta = c beta^(-1/2)
MIN_SCENE_TOLERANCE, MAX_SCENE_TOLERANCE = 1e-12, 1e-2
MIN_STEP = 1e-9  # dt of noise
MAX_NOISE_STEPS = 1_000_000  # t / dt
MAX_HEADS = 64  # of a block
MAX_LAYERS = 1000  # also of a stored trace, whose texts are cut to MAX_TRACE_TOKENS
MAX_TRACE_TOKENS = 256  # of a text; more words cannot be told apart
MAX_HIDDEN = 1024  # units of an MLP
MAX_HEADS_OF_LAYERS = 1000  # with matrices of their own
MAX_WEIGHTS = 2_000_000  # numbers in their matrices
MAX_PRODUCTS = MAX_TOKENS**2 * MAX_DIMENSION  # for one velocity, about: as many as the largest single head
MAX_INTEGER = 2**53  # of a seed or a number of a run: JavaScript counts exactly up to here

MAX_RUN_SECONDS = 600.0  # of wall time
MAX_SESSIONS = 4  # at a time
MAX_MESSAGE_BYTES = 1_000_000
MAX_MESSAGES_PER_SECOND = 50.0
MAX_MESSAGES_AT_ONCE = 100.0

# What the page is told, so that its controls end where the server does.
PAGE_LIMITS = {
    "n": MAX_TOKENS,
    "d": MAX_DIMENSION,
    "frames": MAX_SCENE_FRAMES,
    "numbers": MAX_NUMBERS,
    "t": MAX_TIME,
    "heads": MAX_HEADS,
    "layers": MAX_LAYERS,
    "hidden": MAX_HIDDEN,
}
