"""The comments of a YAML text, which parsers ignore.

Promise: a hash within a string is no comment. Limit: a comment behind the head of a block (`|`,
`>`) is not found, since it is part of the block's token.
"""

from collections import Counter
from collections.abc import Iterator

import yaml

from netclaim.manifests.text.yaml_dialect import KubeLoader


def lost_comments(before: str, after: str) -> list[str]:
    """List the comments of a text that another one does not have, in their order."""
    kept = Counter(_comments(after))
    lost = []
    for comment in _comments(before):
        if kept[comment]:
            kept[comment] -= 1
        else:
            lost.append(comment)
    return lost


def _comments(text: str) -> Iterator[str]:
    """Yield what is between the tokens of a text and begins with a hash."""
    end = 0
    for token in yaml.scan(text, Loader=KubeLoader):
        for line in text[end : token.start_mark.index].splitlines():
            if line.lstrip().startswith("#"):
                yield line.strip()
        end = max(end, token.end_mark.index)
