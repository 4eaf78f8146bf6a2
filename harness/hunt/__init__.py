"""Worst-case hunts: a search where there are too many inputs to try them all.

budget          how long a hunt may take, and what ends a call that takes longer
plan            what to hunt
known           inputs that made public libraries go wrong, as optional first inputs
scores          what a hunt maximises, from judgements of arrays
evaluate        a subject on an array of one-input cases, judged
strata          where a hunt over numbers starts: binades, thresholds, their surroundings
arms            ranges of numbers, and what each promises
refine          inputs around a bad one
figures         the statistics of scattered inputs
point_search    the hunt over single numbers
mutate          neighbours of a case with several inputs
case_search     the hunt over whole neurons
judge           a find judged again by itself, through the mpmath oracle
shrink          the smallest case that keeps an error
memory          finds in the store, where the next hunt starts
engine          searches, budget, judgement and store together
record          a finished hunt, its exit status and its JSON
table           a finished hunt as tables, and its progress
"""

from __future__ import annotations
