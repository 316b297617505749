"""A door to Postgres that does what a pooler does to a session: it names another process than the one behind it."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from psycopg.conninfo import conninfo_to_dict

OTHER_PID = 1


@contextmanager
def pooled(address: str) -> Iterator[str]:
    """The address of the same database through the door."""
    parts = conninfo_to_dict(address)
    with socket.create_server(("127.0.0.1", 0)) as door:
        threading.Thread(target=_serve, args=(door, f"{parts['host']}/.s.PGSQL.{parts['port']}"), daemon=True).start()
        yield f"postgresql://{parts['user']}@127.0.0.1:{door.getsockname()[1]}/{parts['dbname']}?sslmode=disable"


def _serve(door: socket.socket, path: str) -> None:
    with suppress(OSError):  # the door is closed
        while True:
            client, _ = door.accept()
            server = socket.socket(socket.AF_UNIX)
            server.connect(path)
            threading.Thread(target=_pass_on, args=(client, server), daemon=True).start()
            threading.Thread(target=_rename, args=(server, client), daemon=True).start()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError), source, target:
        while received := source.recv(65536):
            target.sendall(received)


def _rename(server: socket.socket, client: socket.socket) -> None:
    """Message by message (a letter and a length), with another process id in the one that carries it."""
    with suppress(OSError), server, client, server.makefile("rb") as stream:
        while head := stream.read(5):
            kind, length = struct.unpack("!ci", head)
            body = stream.read(length - 4)
            if kind == b"K":
                body = struct.pack("!i", OTHER_PID) + body[4:]
            client.sendall(head + body)
