"""How long a fetch by SFTP takes, against OpenSSH's own `sftp` from the same OpenSSH server on loopback.

Needs sshd and sftp (Debian: openssh-server). Run from the root: python -m benchmarks.sftp [--megabytes 500]
"""

import argparse
import filecmp
import getpass
import json
import os
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks import report
from db.enums import Transport
from tasks.transport import Remote, open_retriever

ROUNDS = 5
MEGABYTE = 1_000_000
RATIO_TARGET = 1.5
SMALL_SHARE = 10  # memory is compared with that of a file so many times smaller
MEMORY_TARGET = 1.1

_SSHD = """
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
Subsystem sftp internal-sftp
"""


@dataclass(frozen=True)
class Server:
    """An OpenSSH server for one user, and the files it serves."""

    folder: Path
    port: int
    fingerprint: str

    def sftp(self, path: Path) -> float:
        """Seconds of OpenSSH's own client, connecting included."""
        options = ["-o", "UserKnownHostsFile=/dev/null", "-o", "StrictHostKeyChecking=no", "-o", "LogLevel=ERROR"]
        source = f"{getpass.getuser()}@127.0.0.1:{path}"
        command = ["sftp", "-q", "-P", str(self.port), "-i", self.folder / "user", *options, "-F", "none", source]
        self._begin_anew()
        began = time.perf_counter()
        subprocess.run([*command, self.folder / "by-sftp"], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - began

    def feedmill(self, path: Path) -> dict[str, float]:
        """Seconds of our fetch, connecting, hashing and checking included, and the peak memory of its process."""
        facts = {**asdict(self), "folder": str(self.folder), "path": str(path)}
        command = [sys.executable, "-m", "benchmarks.sftp", "--fetch", json.dumps(facts)]
        self._begin_anew()
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return dict(json.loads(told))

    def _begin_anew(self) -> None:
        """A run finds no earlier file: neither program may write over one, and both find as much memory free."""
        for name in ("by-sftp", "by-feedmill"):
            (self.folder / name).unlink(missing_ok=True)


def fetch(facts: dict[str, Any]) -> dict[str, float]:
    """One fetch, in a process of its own."""
    folder = Path(facts["folder"])
    remote = Remote(
        Transport.SFTP,
        "127.0.0.1",
        facts["port"],
        facts["path"],
        username=getpass.getuser(),
        private_key=(folder / "user").read_text(encoding="utf-8"),
        host_key_fingerprint=facts["fingerprint"],
    )
    began = time.perf_counter()
    with open_retriever(remote) as retriever:
        retriever.download(folder / "by-feedmill", max_bytes=10**12, on_progress=lambda *_: None)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


@contextmanager
def served() -> Iterator[Server]:
    """An sshd of our own on a free port, gone afterwards."""
    program = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
    if program is None or shutil.which("sftp") is None:
        sys.exit("this needs OpenSSH's sshd and sftp (Debian: apt-get install openssh-server)")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd of Debian separates its privileges there
    with tempfile.TemporaryDirectory(prefix="feedmill-bench-") as name:
        folder = Path(name)
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
        port = _free_port()
        (folder / "config").write_text(_SSHD.format(port=port, folder=folder), encoding="utf-8")
        with subprocess.Popen([program, "-D", "-f", folder / "config", "-E", folder / "log"]) as sshd:
            try:
                _wait(port, folder / "log", sshd)
                yield Server(folder, port, _fingerprint(folder / "host.pub"))
            finally:
                sshd.terminate()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def _wait(port: int, log: Path, sshd: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and sshd.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    sys.exit(f"sshd did not start: {log.read_text(encoding='utf-8') if log.exists() else ''}")


def _fingerprint(path: Path) -> str:
    listed = subprocess.run(["ssh-keygen", "-lf", path], check=True, capture_output=True, text=True).stdout
    return listed.split()[1]


def measure(megabytes: int) -> dict[str, Any]:
    with served() as server:
        large, small = server.folder / "large", server.folder / "small"
        for path, size in ((large, megabytes), (small, megabytes // SMALL_SHARE)):
            with path.open("wb") as file:
                for _ in range(size):
                    file.write(os.urandom(MEGABYTE))
        theirs, ours = [], []
        for number in range(ROUNDS + 1):
            if number % 2:  # neither always comes after the other
                ours.append(server.feedmill(large))
            theirs.append(server.sftp(large))
            if not number % 2:
                ours.append(server.feedmill(large))
                assert filecmp.cmp(server.folder / "by-feedmill", large, shallow=False), "another file arrived"
        low = server.feedmill(small)
    del ours[0], theirs[0]  # the first round read the file into the cache
    seconds = [one["seconds"] for one in ours]
    peak = max(one["peak_mib"] for one in ours)
    figures = {
        "sftp_seconds": [round(one, 3) for one in theirs],
        "feedmill_seconds": [round(one, 3) for one in seconds],
        "ratio": round(statistics.median(seconds) / statistics.median(theirs), 2),
        "peak_mib": round(peak, 1),
        "peak_of_a_tenth_mib": round(low["peak_mib"], 1),
    }
    return {
        "commit": report.commit(),
        "command": f"python -m benchmarks.sftp --megabytes {megabytes}",
        "machine": {name: fact for name, fact in report.machine(postgres=0).items() if name != "postgres"},
        "data": {"megabytes": megabytes, "rounds": ROUNDS, "openssh": _version()},
        "figures": figures,
    }


def _version() -> str:
    return subprocess.run(["ssh", "-V"], capture_output=True, text=True, check=True).stderr.strip().partition(",")[0]


def table(result: dict[str, Any]) -> list[str]:
    """The section of the README, from the results alone."""
    figures, on, data = result["figures"], result["machine"], result["data"]
    theirs, ours = (statistics.median(figures[name]) for name in ("sftp_seconds", "feedmill_seconds"))
    memory = figures["peak_mib"] / figures["peak_of_a_tenth_mib"]
    return [
        "## Fetching by SFTP",
        "",
        f"{on['cores']} cores, {on['memory_gib']} GiB, {on['system']}, Python {on['python']}, {data['openssh']} on"
        f" loopback; {data['rounds']} rounds in turns; commit {result['commit'][:12]}; `{result['command']}`",
        "",
        f"| {data['megabytes']} MB | `sftp` of OpenSSH | feedmill, hashed | ratio | target |",
        "|---|---|---|---|---|",
        f"| median, s | {theirs:.2f} | {ours:.2f} | {figures['ratio']:.2f} | <= {RATIO_TARGET} |",
        f"| peak memory, MiB | a tenth of the file: {figures['peak_of_a_tenth_mib']:.0f} | {figures['peak_mib']:.0f} |"
        f" {memory:.2f} | <= {MEMORY_TARGET} |",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--fetch", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.fetch:
        print(json.dumps(fetch(json.loads(asked.fetch))))
        return
    result = measure(asked.megabytes)
    report.save("sftp", result)
    report.write_section("sftp", table(result))
    print("\n".join(table(result)))


if __name__ == "__main__":
    main()
