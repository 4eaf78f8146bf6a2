"""`python -m harness`: the same command as `neuron-harness`."""

from harness.cli import main

if __name__ == "__main__":
    main(prog_name="neuron-harness")
