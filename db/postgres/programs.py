"""Runs the programs of Postgres under the account of a place, and says clearly why one failed."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from db.errors import DatabaseError
from db.postgres import server_settings
from db.postgres.place import Place

_RECOVERY_SECONDS = 3600  # replaying 2 GB of log after a crash, on a slow disk
_LITTLE_SPACE_BYTES = 32 << 20
_ENCODING = ["--encoding=UTF8", "--lc-collate=C"]


@dataclass(frozen=True)
class Programs:
    """`initdb`, `postgres` and `pg_ctl` at work in one place; `lock` is the descriptor that each of them inherits."""

    bin_dir: Path
    place: Place

    def make_data(self, *, lock: int, socket_folder: Path, extra: Mapping[str, str]) -> None:
        """Make the data folder with an empty database in it. All or nothing: it gets its name when it is done."""
        for leftover in self.place.folder.glob("data.new-*"):
            shutil.rmtree(leftover)
        fresh = Path(tempfile.mkdtemp(prefix="data.new-", dir=self.place.folder))
        try:
            self.place.account.take_over(fresh)
            self._initdb(fresh, lock=lock, extra=extra)
            server_settings.write(self.place, fresh, socket_folder=socket_folder, extra=extra)
            create = ["--single", "-D", fresh.name, "-c", "exit_on_error=on", "postgres"]
            self._check(self._run("postgres", *create, lock=lock, text=f"CREATE DATABASE {server_settings.ROLE}\n"))
            fresh.rename(self.place.data)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise

    def launch(self, *, lock: int) -> None:
        """Start the server and return when it answers, or say what its log says."""
        log = self.place.log
        if log.exists():
            log.replace(log.with_suffix(".log.1"))
        options = ["--wait", f"--timeout={_RECOVERY_SECONDS}", "--silent", "--pgdata=data"]
        name = f"-c cluster_name={self.place.tag}"  # the only option that passes through a shell: letters and digits
        with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb") as output:
            done = self._run("pg_ctl", "start", *options, "--options", name, lock=lock, output=output.fileno())
        if done.returncode != 0:
            raise self._failure(log.read_text(encoding="utf-8", errors="replace"))

    def _initdb(self, fresh: Path, *, lock: int, extra: Mapping[str, str]) -> None:
        options = [
            "-D",
            fresh.name,
            f"--username={server_settings.ROLE}",
            "--auth=peer",
            "--no-instructions",
            *_ENCODING,
        ]
        if extra.get("fsync") == "off":
            options.append("--no-sync")
        done = self._run("initdb", *options, "--locale=C.UTF-8", lock=lock)
        if done.returncode != 0 and "invalid locale" in done.stdout:
            done = self._run("initdb", *options, "--locale=C", lock=lock)
        self._check(done)

    def _run(
        self, program: str, *options: str, lock: int, text: str = "", output: int = subprocess.PIPE
    ) -> "subprocess.CompletedProcess[str]":
        account = self.place.account
        return subprocess.run(  # noqa: S603  # a program of our own installation
            [self.bin_dir / program, *options],
            # The folder's own path may hold what pg_ctl's shell would read, so programs see relative names only.
            cwd=self.place.folder,
            # No secret of this process reaches the server, and no PG* setting of the user.
            env={"PATH": f"{self.bin_dir}{os.pathsep}{os.defpath}", "LC_ALL": "C"},
            user=None if account.is_ours else account.uid,
            group=None if account.is_ours else account.gid,
            extra_groups=None if account.is_ours else [],
            start_new_session=True,  # Ctrl-C in the user's terminal is not for the server
            pass_fds=[lock],
            input=text,
            stdout=output,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
        )

    def _check(self, done: "subprocess.CompletedProcess[str]") -> None:
        if done.returncode != 0:
            raise self._failure(done.stdout)

    def _failure(self, output: str) -> DatabaseError:
        folder = self.place.folder
        said = "\n".join(output.strip().splitlines()[-8:]) or "it left no word"
        if shutil.disk_usage(folder).free < _LITTLE_SPACE_BYTES:
            said = f"no space left on the disk of {folder}\n{said}"
        return DatabaseError(f"the embedded database did not start: {said}", hint=f"its log is {self.place.log}")
