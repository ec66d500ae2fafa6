"""A ReLU network trained on the corrected loss, against ignoring the noise, raw data, and the best line.

    points          records as signed points, and the made-up and real data
    training        the network, and what keeps a signed loss bounded
    comparing       one replication, and the table

Needs the extra `versadp[jax]`.
"""
