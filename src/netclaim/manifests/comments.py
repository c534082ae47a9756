"""The comments of a YAML text, which parsers pass over.

Promise: a hash within a text is no comment. Limit: one behind the head of a block (`|`, `>`) is not
seen, since it is part of the block's token.
"""

from collections import Counter
from collections.abc import Iterator

import yaml

from netclaim.manifests.yaml_dialect import KubeLoader

__all__ = ["lost_comments"]


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
    """Yield what stands between the tokens of a text and begins with a hash."""
    end = 0
    for token in yaml.scan(text, Loader=KubeLoader):
        for line in text[end : token.start_mark.index].splitlines():
            if line.lstrip().startswith("#"):
                yield line.strip()
        end = max(end, token.end_mark.index)
