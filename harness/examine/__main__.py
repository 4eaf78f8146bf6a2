"""`python -m harness.examine machine ANSWER` and `python -m harness.examine close REQUEST ANSWER`:
files of JSON, for `neuron-harness report`."""

from __future__ import annotations

import sys
from pathlib import Path

from harness.errors import CannotVerify, one_line


def main(words: list[str]) -> int:
    """0 if the answer is written; 3, after one line, if there is none."""
    try:
        match words:
            case ["machine", answer]:
                from harness.examine.machine import describe_machine

                Path(answer).write_bytes(describe_machine())
            case ["close", request, answer]:
                from harness.examine.close import look_closely

                Path(answer).write_bytes(look_closely(Path(request).read_bytes()))
            case _:
                print(__doc__, file=sys.stderr)
                return 2
    except (CannotVerify, ValueError) as error:
        print(one_line(error).partition(": ")[2], file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        return 5
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
