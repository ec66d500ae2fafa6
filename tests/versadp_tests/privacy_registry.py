"""One list of profiles, by every constructor and every way to combine them; laws are applied to all of it."""

from __future__ import annotations

from versadp.privacy import (
    approx_dp,
    compose,
    gaussian,
    identity,
    randomized_response,
    shuffled,
    shuffled_blocks,
    symmetric_laplace,
    symmetric_laplace_limit,
    with_slack,
    worst,
    zero_inflated,
)

PROFILES = {
    "laplace, dim 1": symmetric_laplace(1, 0.7),
    "laplace, dim 2": symmetric_laplace(2, 0.5),
    "laplace, dim 6": symmetric_laplace(6, 1.3),
    "laplace, dim 6, large shift": symmetric_laplace(6, 12.0),
    "laplace, dim 10,000": symmetric_laplace(10_000, 0.5),
    "laplace, dim beyond the range": symmetric_laplace(20_000, 0.5),
    "limit": symmetric_laplace_limit(0.5),
    "inflated": zero_inflated(symmetric_laplace(6, 0.5), 0.05),
    "inflated, dim 1": zero_inflated(symmetric_laplace(1, 0.5), 0.2),
    "inflated twice": zero_inflated(zero_inflated(gaussian(1.0), 0.05), 0.1),
    "response": randomized_response(4, 0.5),
    "response, two levels": randomized_response(2, 0.3),
    "response, nothing kept": randomized_response(3, 0.0),
    "approximate": approx_dp(1.0, 0.01),
    "approximate, pure": approx_dp(0.5, 0.0),
    "approximate, epsilon 0": approx_dp(0.0, 0.1),
    "gaussian": gaussian(1.0),
    "gaussian, small": gaussian(0.05),
    "identity": identity(),
    "slack": with_slack(symmetric_laplace(3, 0.5), 1e-6),
    "slack, inflated": with_slack(zero_inflated(symmetric_laplace(3, 0.5), 0.05), 1e-9),
    "worst": worst(zero_inflated(symmetric_laplace(3, 0.5), 0.02), randomized_response(4, 0.4)),
    "responses": compose(randomized_response(4, 0.5), randomized_response(3, 0.2), randomized_response(4, 0.5)),
    "record": compose(
        zero_inflated(symmetric_laplace(3, 0.5), 0.05), randomized_response(4, 0.2), randomized_response(2, 0.1)
    ),
    "shuffled, three": shuffled(1.0, 3),
    "shuffled, few alike": shuffled(3.0, 500),
    "shuffled, many alike": shuffled(2.0, 2000),
    "shuffled, attribute": shuffled(1.0, 400, others=3.0),
    "shuffled, inflated": shuffled(2.0, 300, exact_rate=0.03),
    "shuffled, local delta": shuffled(2.0, 300, local_delta=1e-9),
    "shuffled blocks": shuffled_blocks([(1.0, 0.25), (1.5, 0.1)], 1000),
    "shuffled blocks, attribute": shuffled_blocks([(1.0, 0.25), (1.5, 0.1)], 1000, unit="attribute"),
    "shuffled twice": shuffled(2.0, 2000).compose(2),
    "shuffled and a response": compose(shuffled(2.0, 2000), randomized_response(3, 0.2)),
    "two releases": zero_inflated(symmetric_laplace(3, 0.5), 0.05).compose(2),
    "mixture": compose(symmetric_laplace(2, 0.4), symmetric_laplace(5, 0.3), gaussian(0.5), approx_dp(0.3, 0.01)),
}
