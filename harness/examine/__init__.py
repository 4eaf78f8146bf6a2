"""A close look at one subject, for a report: what figures alone do not show.

machine      the machine: its environment, its devices, the names its figures are kept under
points       a subject on numbers, judged by the bulk oracle
envelope     the least and greatest error along the ordinals of x
curve        the curves of tanh and its derivative, with the subject's own
special      zeros, infinities, NaN, and the ends of the format
worst        single cases, judged by themselves
speed        the throughput of the subject as such
close        all of that, from a request to its answer as JSON

Runs as a process of its own: `python -m harness.examine`.
"""

from __future__ import annotations
