"""Rows are found by their groups as if all of them were looked at."""

import random

from netclaim.framework.journal.table import Table


def test_groups_follow_the_rows() -> None:
    """After any changes a group has the rows that say so, and followers have heard of each."""
    chance = random.Random(20)
    table: Table[int, tuple[str, ...]] = Table(letter=lambda row: row)
    rows: dict[int, tuple[str, ...]] = {}
    heard: dict[tuple[str, ...], int] = {}

    def follow(before: tuple[str, ...] | None, after: tuple[str, ...] | None) -> None:
        for row, change in ((before, -1), (after, 1)):
            if row is not None:
                heard[row] = heard.get(row, 0) + change

    table.put(0, ("a", "b"))
    rows[0] = ("a", "b")
    table.follow(follow)
    for _ in range(500):
        key = chance.randrange(12)
        if chance.random() < 0.3:
            table.drop(key)
            rows.pop(key, None)
        else:
            rows[key] = tuple(chance.sample("abcd", chance.randrange(4)))
            table.put(key, rows[key])
        assert table.rows == rows
        for letter in "abcd":
            found = [row for row in rows.values() if letter in row]
            assert sorted(table.group("letter", letter)) == sorted(found)
            assert table.size("letter", letter) == len(found)
        assert set(table.groups("letter")) == {letter for row in rows.values() for letter in row}
    assert {row: count for row, count in heard.items() if count} == {
        row: list(rows.values()).count(row) for row in rows.values()
    }
