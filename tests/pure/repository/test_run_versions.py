"""The table of `make test-versions`: what counts as passed, and what ends it badly."""

import pytest

from scripts.run_versions import Outcome, counts, main, table

REPORT = """<testsuites><testsuite>
<testcase name="demo"><properties><property name="versions" value="demo"/></properties></testcase>
<testcase name="killed"><properties><property name="versions" value="lifecycle"/></properties>
<failure message="no"/></testcase>
<testcase name="rolled"><properties><property name="versions" value="lifecycle"/></properties>
</testcase>
<testcase name="away"><properties><property name="versions" value="faults"/></properties>
<skipped message="needs root"/></testcase>
</testsuite></testsuites>"""


def test_what_did_not_run_did_not_pass() -> None:
    """Tests are counted by the part that their mark names; a skipped one is a failed one."""
    passed, failed = counts(REPORT)
    assert passed == {"demo": 1, "lifecycle": 1}
    assert failed == {"lifecycle": 1, "faults": 1}


def test_table_has_a_row_for_each_release() -> None:
    """Each release has its counts and a verdict."""
    good = Outcome("1.37", 0, 90.0, {"demo": 2, "faults": 5})
    bad = Outcome("1.36", 1, 30.0, *counts(REPORT))
    assert table([good, bad]).splitlines() == [
        "Kubernetes  demo      faults         lifecycle      minutes",
        "1.37        2 passed  5 passed       none           1.5      good",
        "1.36        1 passed  1 of 1 failed  1 of 2 failed  0.5      BAD, exit code 1",
    ]


@pytest.mark.parametrize(
    ("outcome", "good"),
    [
        (Outcome("1.37", 0, 1.0, {"demo": 1}), True),
        (Outcome("1.37", 5, 1.0), False),  # pytest's code for no tests
        (Outcome("1.37", 0, 1.0), False),
        (Outcome("1.37", 0, 1.0, {"demo": 1}, {"demo": 1}), False),
        (Outcome("1.37", 1, 1.0, {"demo": 1}), False),
    ],
)
def test_a_release_is_good_if_something_ran_and_all_passed(outcome: Outcome, good: bool) -> None:
    """A run that ends without tests, or with an error outside of them, is not good."""
    assert outcome.good is good


def test_unknown_release(capsys: pytest.CaptureFixture[str]) -> None:
    """A release that is not pinned is answered with those that are, before anything runs."""
    assert main(["1.36", "1.31"]) == 2
    assert capsys.readouterr().err == (
        "no Kubernetes 1.31 is pinned; there are 1.37, 1.36, 1.34, 1.32\n"
    )
