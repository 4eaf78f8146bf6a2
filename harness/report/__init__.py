"""The nightly accuracy report: what a plan's runs found, kept, judged against the accepted figures
and shown.

plan        what to look at every night, from a table of TOML
children    a command in a process of its own, ended when its time is up
documents   what the engines print as JSON, turned into rows and details
night_run   a plan carried out, one command after another
record      what one machine found in one night
history     all runs, in one SQLite file
labels      what a night may be called
nights      the runs of a night together
figures     when two figures are the same, and which is worse
ratchet     the accepted figures, and how a night stands to them
trend       a figure over the nights: spans in which it stayed the same
compare     what changed from one night to another
outcome     whether a night is green, and why not
report      a night with all of that: what report.json holds
words       figures and names as people read them
plots       curves, envelopes, histograms and trends as paths
sections    a report arranged as its page shows it
page        the page
markdown    the summary of a page
folder      the files of a report on disk

It reads what commands have printed, and imports no engine.
"""

from __future__ import annotations
