"""Token buckets: so much at once, so much in the long run, and no memory of those that are full."""

from netclaim.framework.testing import FakeClock
from netclaim.framework.tools.rates import Buckets, Rate


async def test_bucket() -> None:
    """A bucket is full at first, fills up with time, and never over its brim."""
    clock = FakeClock()
    buckets = Buckets(Rate(burst=3, per_s=0.5), clock)
    buckets.take("red", 2)
    assert (buckets.level("red"), buckets.level("blue")) == (1, 3)
    assert buckets.wait_s("red", 2) == 2
    await clock.sleep(2)
    assert (buckets.level("red"), buckets.wait_s("red", 2)) == (2, 0)
    await clock.sleep(3600)
    assert buckets.level("red") == 3


async def test_debt() -> None:
    """What is taken beyond the bottom is owed, up to one bucketful: nobody is shut out for ever."""
    clock = FakeClock()
    buckets = Buckets(Rate(burst=3, per_s=0.5), clock)
    buckets.take("red", 1000)
    assert buckets.level("red") == -3
    assert buckets.wait_s("red", 0) == 6


async def test_full_buckets_are_forgotten() -> None:
    """However many keys there were, those that took something lately are kept, and no others."""
    clock = FakeClock()
    buckets = Buckets(Rate(burst=1, per_s=1), clock)
    for number in range(10_000):
        buckets.take(str(number))
        await clock.sleep(0.01)
    assert len(buckets._levels) <= 512
    assert buckets.level("9999") < 1
