"""Which process is the server of a data folder, and which are left over from one that was killed."""

from pathlib import Path

import psutil  # type: ignore[import-untyped]  # ships no type hints

_STATUS_LINE = 7  # of postmaster.pid: starting, ready, stopping


def find(data: Path, tag: str) -> psutil.Process | None:
    """The living server of this data folder; a process that only inherited its number does not count."""
    try:
        process = psutil.Process(int(_pid_file(data).read_text(encoding="utf-8").split("\n", maxsplit=1)[0]))
        is_server = process.status() != psutil.STATUS_ZOMBIE and _serves(process, data, tag)
    except (OSError, ValueError, psutil.Error):
        return None
    return process if is_server else None


def status(data: Path) -> str:
    """What the server says of itself: `starting`, `ready`, `stopping`, or nothing yet."""
    try:
        lines = _pid_file(data).read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return lines[_STATUS_LINE].strip() if len(lines) > _STATUS_LINE else ""


def forget(data: Path) -> None:
    """Remove the note of a server that is gone: Postgres itself believes any living process with its number."""
    _pid_file(data).unlink(missing_ok=True)


def kill_orphans(tag: str) -> None:
    """End the processes that outlived their server; a new one cannot start beside them, and repairs what they leave."""
    for process in psutil.process_iter():
        try:
            if " ".join(process.cmdline()).startswith(f"postgres: {tag}:"):
                process.kill()
        except psutil.Error:
            continue


def _pid_file(data: Path) -> Path:
    return data / "postmaster.pid"


def _serves(process: psutil.Process, data: Path, tag: str) -> bool:
    if f"cluster_name={tag}" in process.cmdline():
        return True
    # Somebody started it by hand. The working folder of another account's process is hidden from root in a container.
    return bool(process.name() == "postgres" and Path(process.cwd()) == data.resolve())
