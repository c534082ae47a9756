"""What the pure rung has instead of a compiler: a stand-in for the program that native/ becomes."""

from collections.abc import Iterator

import pytest

from netclaim.chained import program_path


@pytest.fixture(scope="module", autouse=True)  # other rungs in the same process need the real one
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The driver installs a program that nothing here runs, whether or not there is a real one.

    The package finds its program beside one of its modules, so that module stands elsewhere.
    """
    program = tmp_path_factory.mktemp("package") / "netclaim-attach"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(program_path.__globals__, "__file__", str(program.with_name("module.py")))
        assert program_path() == program
        yield
