"""The command line, called in this process."""

import json

import pytest

from feedmill import cli, contract


@pytest.fixture
def feedmill(capsys):
    """Exit code and document of a command, and what people are told in one line."""

    def run(*arguments):
        capsys.readouterr()
        code = contract.run(cli.app, [*arguments, "--json"])
        out, err = capsys.readouterr()
        assert err.count("\n") <= 1
        return code, json.loads(out), err

    return run
