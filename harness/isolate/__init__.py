"""Subjects in processes of their own: what crashes, hangs or fills the memory there is a finding.

The process that verifies draws, judges and shrinks, and runs no line of the subject's. `subject`
has what stands for such a subject there, `remote` the evaluators that ask for its results; `limits`
says what it may take. `zygote` and `server` are the processes on the other side, `process` the
connection to them, `records` what travels. Importing this package imports no torch, so that the
other side can be started first.
"""
