"""Records without a key take turns, a batch each."""

from millstream.client.partitioner import Sticky


def test_keyless_records_stay_until_their_batch_is_taken() -> None:
    sticky = Sticky()

    assert [sticky.choose(3), sticky.choose(3)] == [0, 0]
    sticky.batch_taken()
    assert sticky.choose(3) == 1
    sticky.batch_taken()
    sticky.batch_taken()
    assert sticky.choose(3) == 0
