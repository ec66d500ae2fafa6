"""Loaded once by the server from which processes to be killed are forked: the kernels are compiled there."""

from versadp_tests.fault_driver import PEOPLE, PLAIN, mechanism, table

mechanism(PLAIN).release(table(10), engine="serial")
mechanism(PEOPLE).release(table(10, people=True), engine="serial")
mechanism(PLAIN).privacy("record").delta(1.0)
