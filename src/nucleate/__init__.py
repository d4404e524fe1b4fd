from nucleate.attention import Attention, Frozen, Window
from nucleate.sphere import uniform, retract
