"""A local FTP server for tests: one user, one folder, on a free port of 127.0.0.1; its handler can be scripted."""

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
