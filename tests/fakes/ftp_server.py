"""Local FTP servers for tests, on a free port of 127.0.0.1: one for a folder, which can be scripted, and a slow one."""

import contextlib
import socket
import threading
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of asyncore, which Python 3.12 drops
    from pyftpdlib.authorizers import DummyAuthorizer
    from pyftpdlib.handlers import FTPHandler
    from pyftpdlib.ioloop import IOLoop
    from pyftpdlib.servers import FTPServer


class LocalFtpServer:
    """Serves `root` while its block is open. `commands` are those it was sent, without passwords."""

    host = "127.0.0.1"

    def __init__(self, root, *, username, password, handler=FTPHandler):
        authorizer = DummyAuthorizer()
        authorizer.add_user(username, password, str(root), perm="elr")
        self.commands = []
        members = {
            "authorizer": authorizer,
            "use_sendfile": False,
            "banner": "ready",
            "auth_failed_timeout": 0,
            "pre_process_command": _noted,
        }
        self.handler = type("Handler", (handler,), {**members, "commands": self.commands})
        self._username = username
        self._loop = IOLoop()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="local-ftp-server", daemon=True)

    def url(self, path):
        return f"ftp://{self._username}@{self.host}:{self.port}/{path.lstrip('/')}"

    def __enter__(self):
        self._server = FTPServer((self.host, 0), self.handler, ioloop=self._loop)
        self.port = self._server.socket.getsockname()[1]
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()

    def _serve(self):
        while not self._is_over.is_set():
            self._loop.loop(timeout=0.02, blocking=False)
        self._server.close_all()


def _noted(self, line, cmd, arg):
    self.commands.append(cmd)
    FTPHandler.pre_process_command(self, line, cmd, arg)


_REPLIES = {"USER": "331 who", "PASS": "230 in", "TYPE": "200 so", "SIZE": "213 10", "MDTM": "213 20260301123015"}


class DrippingFtpServer:
    """One file for one guest. What it says of `slow` comes in pieces, a moment apart, and is right at last."""

    host = "127.0.0.1"
    content = b"sku,price\n"

    def __init__(self, *slow, moments=20, is_one_line=False):
        self._slow = slow
        self._moments = moments
        self._is_one_line = is_one_line
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="dripping-ftp-server", daemon=True)

    def __enter__(self):
        self._door = socket.create_server((self.host, 0))
        self._data_door = socket.create_server((self.host, 0))
        self.port = self._door.getsockname()[1]
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()
        self._door.close()
        self._data_door.close()

    def _serve(self):
        guest, _ = self._door.accept()
        with guest, guest.makefile("rb") as commands, contextlib.suppress(OSError):
            self._say(guest, "greeting", "220 ready")
            for line in commands:
                command = line.split()[0].decode()
                if command == "RETR":
                    self._send(guest)
                else:
                    self._say(guest, command, _REPLIES.get(command) or self._passive(command))

    def _passive(self, command):
        port = self._data_door.getsockname()[1]
        return f"227 here (127,0,0,1,{port >> 8},{port & 255})" if command == "PASV" else "500 what"

    def _send(self, guest):
        data, _ = self._data_door.accept()
        with data:
            self._say(guest, "RETR", "150 now")
            data.sendall(self.content)
        self._say(guest, "end", "226 done")

    def _say(self, guest, of, reply):
        whole = f"{reply}\r\n".encode()
        if of not in self._slow:
            guest.sendall(whole)
            return
        first, more = (whole[:4], b" ") if self._is_one_line else (b"", whole[:3] + b"-\r\n")
        for piece in [first, *[more] * self._moments, whole.removeprefix(first)]:
            guest.sendall(piece)
            self._is_over.wait(0.05)
