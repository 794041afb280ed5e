"""One member's way from what it has to what it is to have.

A partition never has two owners. Who must give something up is told so, keeps
its epoch, and has it still until it says that it does not; only then is it
anybody else's. Who waits for what another must give up goes on meanwhile with
all the rest.
"""

from millstream.groups.modern_changes import NOTHING, Place, Share, Standing
from millstream.groups.modern_state import Draft


def reconciled(draft: Draft, id: str, owned: Share | None, *, joins: bool = False) -> Place:
    """Where *id* stands after it said what it *owned*, or nothing of that.

    One that *joins* owns nothing else until it hears from us. Any other may
    be about to take up what we told it last, though it does not own it yet.
    """
    place = draft.place(id)
    match place.standing:
        case Standing.STABLE if place.epoch == draft.target_epoch:
            return place
        case Standing.UNREVOKED if owned is None or owned & place.revoking:
            return place
        case Standing.UNREVOKED:
            # It is done with the last target. One epoch on, it may begin with the next.
            return _next(draft, id, place, place.epoch + 1, owned if joins else None)
    return _next(draft, id, place, place.epoch, owned if joins else None)


def _next(draft: Draft, id: str, place: Place, epoch: int, owned: Share | None) -> Place:
    target = draft.target(id)
    kept = place.assigned & target
    unwanted = place.assigned - target
    if unwanted and (owned is None or owned & unwanted):
        return _moved(place, epoch, Standing.UNREVOKED, kept, unwanted)
    wanted = target - kept
    free = frozenset(each for each in wanted if draft.is_free_for(id, each))
    standing = Standing.STABLE if free == wanted else Standing.UNRELEASED
    return _moved(place, draft.target_epoch, standing, kept | free)


def _moved(place: Place, epoch: int, standing: Standing, assigned: Share, revoking: Share = NOTHING) -> Place:
    # A member that missed our answer comes with the epoch before, which must be known for that.
    previous = place.previous_epoch if epoch == place.epoch else place.epoch
    return Place(epoch, previous, standing, assigned, revoking)
