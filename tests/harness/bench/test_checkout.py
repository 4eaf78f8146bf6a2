"""Copies of a commit and of a working tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.bench.checkout import build, commit, copy_commit, copy_tree, repository
from harness.errors import CannotVerify, UsageError


def git(folder: Path, *arguments: str) -> str:
    """git, with an author."""
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.com")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """One commit of two files, of which one is changed since, one gone; one new, one ignored."""
    top = tmp_path / "clone"
    (top / "inner").mkdir(parents=True)
    git(top, "init", "-q")
    (top / "inner" / "kept é.py").write_text("then")
    (top / "gone.py").write_text("then")
    (top / ".gitignore").write_text("built\n")
    git(top, "add", ".")
    git(top, "commit", "-q", "-m", "then")
    (top / "inner" / "kept é.py").write_text("now")
    (top / "gone.py").unlink()
    (top / "new.py").write_text("now")
    (top / "built").write_text("now")
    return top


def files(folder: Path) -> dict[str, str]:
    """Path -> content."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".gitignore"
    }


def test_a_commit_is_as_it_was(clone: Path, tmp_path: Path) -> None:
    """And the repository as it is: no worktree, no change of state."""
    before = git(clone, "status", "--porcelain"), git(clone, "worktree", "list")
    copy_commit(clone, commit(clone, "HEAD"), tmp_path / "copy")
    assert {"inner/kept é.py": "then", "gone.py": "then"} == files(tmp_path / "copy")
    assert before == (git(clone, "status", "--porcelain"), git(clone, "worktree", "list"))


def test_a_working_tree_is_as_it_is(clone: Path, tmp_path: Path) -> None:
    """With what is new, without what is gone or ignored."""
    copy_tree(clone, tmp_path / "copy")
    assert {"inner/kept é.py": "now", "new.py": "now"} == files(tmp_path / "copy")


def test_the_top_is_found_from_within(clone: Path) -> None:
    """As git finds it."""
    assert clone.resolve() == repository(clone / "inner").resolve()


def test_no_repository(tmp_path: Path) -> None:
    """One line that says what to do."""
    with pytest.raises(CannotVerify, match=r"is in no git repository.*run it in a clone"):
        repository(tmp_path)


@pytest.mark.parametrize("name", ["no-such-branch", "--all", "HEAD~5", "HEAD:gone.py", ""])
def test_no_commit(clone: Path, name: str) -> None:
    """An option or a file is none either."""
    with pytest.raises(UsageError, match="is no commit of"):
        commit(clone, name)


def test_what_is_built_is_built_in_each(tmp_path: Path) -> None:
    """Where it fails, the last line it printed is handed on."""
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
    build("echo made > out", folders)
    assert ["made\n"] * 2 == [(folder / "out").read_text() for folder in folders]
    with pytest.raises(CannotVerify, match=r"ended with status 3 in the a copy \(no compiler\)"):
        build("echo no compiler >&2; exit 3", folders)
