"""Groups of the causal solver: tokens within a radius act on later ones as one place, their mean, with a
count."""

from nucleate.kernels.compile import inlined, uncounted

__all__ = ["form_groups", "groups_in_use", "join_group"]


@uncounted
def form_groups(s):
    """Give every token a slot: that of the group it was in before if it is still within the radius of its
    first token, else that of the first group which is so near, or a new one."""
    x, m, slot_of, first_token, leader = s.system.x, s.system.m, s.slot_of, s.first_token, s.leader
    used, limit = s.frozen_slots, s.group_radius * s.group_radius
    for k in range(s.system.n):
        slot = used
        if limit > 0.0:
            old = slot_of[leader[k]]
            if leader[k] < k and first_token[old] == leader[k] and _near(x, m + k, m + leader[k], limit):
                slot = old
            else:
                for j in range(s.frozen_slots, used):
                    if _near(x, m + k, m + first_token[j], limit):
                        slot = j
                        break
        if slot == used:
            first_token[used] = k
            used += 1
        slot_of[k], leader[k] = slot, first_token[slot]


@inlined
def _near(x, i, j, limit):
    """Whether the squared distance of columns i and j is at most `limit`."""
    square = 0.0
    for c in range(x.shape[0]):
        square += (x[c, i] - x[c, j]) ** 2
        if square > limit:
            return False
    return True


@inlined
def groups_in_use(s):
    """Groups of tokens in the step just made."""
    most = 0
    for k in range(s.system.n):
        most = max(most, s.slot_of[k] + 1 - s.frozen_slots)
    return most


@uncounted
def join_group(s, k, used):
    """The token's places and increments, left in slot `used`, go into its group's slot; returns the number of
    slots in use."""
    places, count, substep_places, increments = s.places, s.multiplicity, s.substep_places, s.increments
    bases, slot = s.bases, s.slot_of[k]
    d = places.shape[0]
    if slot == used:
        count[used] = 1.0
        for c in range(d):
            for e in range(d - 1):
                bases[c, e, used] = s.basis[c, e]
        return used + 1
    count[slot] += 1.0
    s.rounding[slot] = max(s.rounding[slot], s.rounding[used])
    share = 1.0 / count[slot]
    for c in range(d):
        places[c, slot] += share * (places[c, used] - places[c, slot])
        for i in range(substep_places.shape[0]):
            substep_places[i, c, slot] += share * (substep_places[i, c, used] - substep_places[i, c, slot])
    for i in range(increments.shape[0]):
        for e in range(increments.shape[1]):
            increments[i, e, slot] += increments[i, e, used]
    return used
