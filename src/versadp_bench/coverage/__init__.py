"""Whether intervals cover: answers of many regimes held against the truth, replication by replication.

`regimes/` says who is released, under which noise, and what is asked; `running` does the replications and keeps them;
`verdict` says whether a regime holds, and `table` shows it.
"""
