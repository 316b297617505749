"""The process of a temporary Prefect server. Run by path, so that it loads Prefect and nothing of ours.

Arguments: the number of a bound socket, and the server's folder. Standard input is a pipe that nobody writes to: it
ends when the process that started the server is gone, however it went, and then server and folder go as well.
"""

import os
import shutil
import socket
import sys
import threading


def end_with_parent(folder: str) -> None:
    """Wait for the end of standard input, then leave nothing behind."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)  # the main thread may be anywhere, also in the middle of an import


def main(listener: int, folder: str) -> None:
    threading.Thread(target=end_with_parent, args=(folder,), daemon=True).start()
    import uvicorn  # noqa: PLC0415 - takes seconds, and the parent may be gone by then
    from prefect.server.api.server import create_app  # noqa: PLC0415 - the same

    config = uvicorn.Config(create_app(final=True), lifespan="on", log_level="error", timeout_graceful_shutdown=2)
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=listener)])


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
