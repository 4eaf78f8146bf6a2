"""Both states of a repository side by side, as copies that nothing else writes to."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from harness.errors import CannotVerify, UsageError


def repository(directory: Path) -> Path:
    """The top of the git working tree that `directory` is in. Raises CannotVerify for none."""
    try:
        found = _git(directory, "rev-parse", "--show-toplevel")
    except FileNotFoundError:
        raise CannotVerify("git is not on PATH; expected it for --against; install it") from None
    if found.returncode:
        raise CannotVerify(
            f"{directory} is in no git repository; expected one for --against; run it in a clone"
        )
    return Path(found.stdout.decode().strip())


def commit(top: Path, revision: str) -> str:
    """The full hash of a revision. Raises UsageError for what names none."""
    found = _git(
        top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
    )
    if found.returncode:
        raise UsageError(
            f"--against {revision!r} is no commit of {top}; expected a branch, tag or hash; "
            "fetch it first if it is on a remote"
        )
    return found.stdout.decode().strip()


def copy_commit(top: Path, revision: str, to: Path) -> None:
    """The files of a commit in the new folder `to`. Leaves the repository as it is: no worktree is
    registered."""
    to.mkdir()
    with subprocess.Popen(
        ["git", "archive", "--format=tar", revision], cwd=top, stdout=subprocess.PIPE
    ) as archive:
        stream: IO[bytes] | None = archive.stdout
        assert stream is not None
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            tar.extractall(to, filter="data")
    if archive.returncode:
        raise CannotVerify(f"git archive {revision} failed; expected a complete clone; fetch it")


def copy_tree(top: Path, to: Path) -> None:
    """The working tree in the new folder `to`: what git tracks, as it is now, and what is new and
    not ignored."""
    to.mkdir()
    listed = _git(top, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, listed.stdout.decode(errors="surrogateescape").split("\0")):
        source, target = top / name, to / name
        # A file may be gone though git knows it, and a submodule is a folder.
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def build(command: str, folders: Sequence[Path]) -> None:
    """Run a shell command in each folder, for what must be compiled. Raises CannotVerify."""
    for folder in folders:
        done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            last = (done.stderr.strip() or done.stdout.strip() or "it printed nothing").splitlines()
            raise CannotVerify(
                f"--build {command!r} ended with status {done.returncode} in the {folder.name} "
                f"copy ({last[-1]}); expected 0; try it in a fresh clone"
            )


def _git(directory: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", *arguments], cwd=directory, capture_output=True)
