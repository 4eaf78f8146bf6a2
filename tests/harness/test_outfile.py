"""Files a run ends with: writable from the start, replaced in one step, never left half written."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from harness.errors import UsageError
from harness.outfile import OutFile
from tests.harness.command import environment


def names(folder: Path) -> list[str]:
    """What lies in a folder."""
    return sorted(path.name for path in folder.iterdir())


class TestWriting:
    """What is there after a write."""

    def test_a_new_file(self, tmp_path: Path) -> None:
        """Appears with the content, the usual permissions, and nothing beside it."""
        path = tmp_path / "new.json"
        out = OutFile("--json", str(path))
        assert [] == names(tmp_path)
        out.write(b"content\n")
        assert b"content\n" == path.read_bytes()
        assert ["new.json"] == names(tmp_path)
        mask = os.umask(0)
        os.umask(mask)
        assert 0o666 & ~mask == stat.S_IMODE(path.stat().st_mode)

    def test_an_existing_file(self, tmp_path: Path) -> None:
        """Is untouched until it is replaced, in one step, and keeps its permissions."""
        path = tmp_path / "old.json"
        path.write_bytes(b"old")
        path.chmod(0o640)
        before = path.stat()
        out = OutFile("--json", str(path))
        assert b"old" == path.read_bytes()
        assert before.st_mtime_ns == path.stat().st_mtime_ns
        out.write(b"new")
        assert b"new" == path.read_bytes()
        assert before.st_ino != path.stat().st_ino
        assert 0o640 == stat.S_IMODE(path.stat().st_mode)

    def test_a_link(self, tmp_path: Path) -> None:
        """Stays a link: the file it leads to is replaced, or made."""
        link = tmp_path / "link.json"
        link.symlink_to("target.json")
        for content in (b"first", b"second"):
            OutFile("--json", str(link)).write(content)
            assert link.is_symlink()
            assert content == (tmp_path / "target.json").read_bytes()
        assert ["link.json", "target.json"] == names(tmp_path)

    def test_a_relative_path_is_that_of_the_start(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A subject that changes the working directory does not move the file."""
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path)
        out = OutFile("--json", "here.json")
        monkeypatch.chdir("elsewhere")
        out.write(b"x")
        assert (tmp_path / "here.json").exists()

    def test_the_longest_name(self, tmp_path: Path) -> None:
        """A name of 255 bytes leaves no room for a suffix, and needs none."""
        path = tmp_path / ("n" * 255)
        OutFile("--json", str(path)).write(b"x")
        assert b"x" == path.read_bytes()

    def test_a_failed_write_leaves_what_was(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The old file, no temporary one, and one line."""
        path = tmp_path / "old.json"
        path.write_bytes(b"old")
        out = OutFile("--json", str(path))

        def refuse(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", refuse)
        with pytest.raises(
            UsageError, match=r"cannot be written .No space left on device.; expect"
        ):
            out.write(b"new")
        assert b"old" == path.read_bytes()
        assert ["old.json"] == names(tmp_path)

    def test_an_interrupted_write_leaves_what_was(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Ctrl-C in the middle of it too."""

        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        out = OutFile("--json", str(tmp_path / "new.json"))
        monkeypatch.setattr(os, "replace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            out.write(b"new")
        assert [] == names(tmp_path)


class TestDevices:
    """What is no file is written to, and never replaced."""

    def test_null(self) -> None:
        """/dev/null takes everything, stays a device, and /dev needs not be writable."""
        OutFile("--json", "/dev/null").write(b"x")
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
    def test_null_without_privileges(self) -> None:
        """A user who may not write to /dev may write to /dev/null."""
        script = (
            "from harness.outfile import OutFile\n"
            "import os\n"
            "os.setuid(65534)\n"
            "OutFile('--json', '/dev/null').write(b'x')\n"
        )
        subprocess.run([sys.executable, "-c", script], env=environment(), check=True)

    @pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
    def test_standard_output(self, name: str, tmp_path: Path) -> None:
        """Is written to in order, whether it is a pipe or a file, and is not replaced by a file."""
        script = (
            "from harness.outfile import OutFile\n"
            f"out = OutFile('--json', {name!r})\n"
            "assert out.standard_output\n"
            "print('before', flush=True)\n"
            "out.write(b'content\\n')\n"
            "print('after')\n"
        )
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, env=environment(), check=True, capture_output=True)
        assert b"before\ncontent\nafter\n" == done.stdout
        path = tmp_path / "redirected"
        with path.open("wb") as stream:
            subprocess.run(command, env=environment(), check=True, stdout=stream)
        assert b"before\ncontent\nafter\n" == path.read_bytes()
        assert not Path("/dev/stdout").is_file() or Path("/dev/stdout").is_symlink()

    def test_standard_error(self, tmp_path: Path) -> None:
        """Redirected to a file, it is added to."""
        path = tmp_path / "redirected"
        script = (
            "import sys\n"
            "from harness.outfile import OutFile\n"
            "print('before', file=sys.stderr, flush=True)\n"
            "OutFile('--json', '/dev/stderr').write(b'content\\n')\n"
        )
        with path.open("ab") as stream:
            subprocess.run(
                [sys.executable, "-c", script], env=environment(), check=True, stderr=stream
            )
        assert b"before\ncontent\n" == path.read_bytes()

    def test_a_named_pipe(self, tmp_path: Path) -> None:
        """Its reader gets the content, and no end of file before it."""
        path = tmp_path / "pipe"
        os.mkfifo(path)
        out = OutFile("--json", str(path))
        read: list[bytes] = []
        reader = Thread(target=lambda: read.append(path.read_bytes()))
        reader.start()
        out.write(b"content")
        reader.join(timeout=30)
        assert [b"content"] == read
        assert stat.S_ISFIFO(path.stat().st_mode)


class TestRefusals:
    """What cannot be written is known before a run, in one line."""

    @pytest.mark.parametrize(
        ("name", "fault"),
        [
            pytest.param("", "names no file", id="no name"),
            pytest.param("folder", "is a folder", id="a folder"),
            pytest.param("missing/", "is a folder", id="a missing folder's name"),
            pytest.param("missing/new.json", "No such file or directory", id="in a missing folder"),
            pytest.param("file/new.json", "Not a directory", id="in a file"),
            pytest.param("n" * 256, "File name too long", id="a name too long"),
        ],
    )
    def test_refused(
        self, name: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The option, the name, the fault and the remedy; nothing is left behind."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "folder").mkdir()
        (tmp_path / "file").touch()
        before = names(tmp_path)
        with pytest.raises(UsageError) as refused:
            OutFile("--json", name)
        message = str(refused.value)
        assert message.startswith(f"--json {name}".rstrip())
        assert fault in message
        assert 1 == len(message.splitlines())
        assert 2 == message.count("; ") or fault == "names no file"
        assert before == names(tmp_path)

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
    def test_no_permission(self, tmp_path: Path) -> None:
        """A file or folder of somebody else's."""
        tmp_path.chmod(0o755)
        for parent in [*tmp_path.parents][:2]:
            parent.chmod(0o755)
        (tmp_path / "old.json").touch(mode=0o644)
        script = (
            "import os, sys\n"
            "from harness.errors import UsageError\n"
            "from harness.outfile import OutFile\n"
            "os.setuid(65534)\n"
            "for name in sys.argv[1:]:\n"
            "    try:\n"
            "        OutFile('--json', name)\n"
            "    except UsageError as error:\n"
            "        print(error)\n"
        )
        paths = [str(tmp_path / "old.json"), str(tmp_path / "new.json")]
        done = subprocess.run(
            [sys.executable, "-c", script, *paths],
            env=environment(),
            check=True,
            capture_output=True,
            text=True,
        )
        assert 2 == done.stdout.count("cannot be written (Permission denied)")


def test_two_files_or_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By where they lead, not by how they are spelt; a device holds both."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("one")

    def same(left: str, right: str) -> bool:
        return OutFile("--json", left).same_as(OutFile("--junitxml", right))

    assert same("one", "./one")
    assert same("one", "link")
    assert same("-", "/dev/stdout")
    assert not same("one", "two")
    assert not same("-", "one")
    assert not same("/dev/null", "/dev/null")
