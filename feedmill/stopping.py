"""Ctrl-C before the command line is ready to hear it: one line, no traceback. Importing this is enough.

The modules of the command line take a third of a second to import.
"""

import sys
from types import TracebackType


def _tell(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.stderr.write("\nfeedmill: stopped\n")  # Python then ends by the signal, which a shell calls 130
        return
    sys.__excepthook__(kind, error, traceback)


sys.excepthook = _tell
