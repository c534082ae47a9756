"""Compare keys of a configuration as Go's encoding/json does, with which CNI plugins read them.

Promise: `fold(a) == fold(b)` exactly where Go takes both for the same key: by Unicode's simple case
folding. That is more than upper and lower case: the long s (U+017F) is an s and the Kelvin sign
(U+212A) is a k, in `master` as in `link`. A key of ASCII letters folds to its lower case.
Limit: no I/O. Says nothing about which of two spellings counts: Go takes the last that it meets, so
a check has to refuse both; `same_keys` finds them.
"""

from collections.abc import Iterable


def fold(key: str) -> str:
    """Return what all spellings of a key have in common."""
    if key.isascii():  # all but a few, and ten times as fast
        return key.lower()
    return "".join(map(_fold_letter, key))


def same_keys(keys: Iterable[str]) -> tuple[str, str] | None:
    """Return the first two spellings of one key among the keys of an object, if there are any."""
    spelled: dict[str, str] = {}
    for key in keys:
        folded = fold(key)
        if folded in spelled:
            return spelled[folded], key
        spelled[folded] = key
    return None


def _fold_letter(letter: str) -> str:
    """Fold one letter to one letter.

    Python's own folding is the full one, which makes two letters of some (ß is ss). Those have a
    simple one if their lower case is a single letter; U+0130, the Turkish İ, is not among them.
    """
    folded = letter.casefold()
    if len(folded) > 1:
        folded = letter.lower()
    return folded if len(folded) == 1 else letter
