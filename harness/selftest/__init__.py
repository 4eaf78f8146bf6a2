"""The self-test: what the harness, and tests that others would write, catch of the bank.

rival       what another test is
inputs      random inputs for rivals, and the plain torch code they compare with
gradcheck   torch.autograd.gradcheck at its defaults and at its best
closeness   torch.testing.assert_close against a float64 copy
developer   the test that a kernel developer usually writes
entries     which subjects of the bank to run
contest     one subject in one dtype, judged by all
run         all of them
tally       how many were caught, of how many
record      a self-test as JSON
table       a self-test as tables
page        a self-test as a page of the documentation
"""

from __future__ import annotations
