"""The version of the distribution, stated here and nowhere else."""

__version__ = "0.1.0"
