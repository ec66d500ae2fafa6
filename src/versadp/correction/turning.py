"""Waves `e^{i m base phase}` of all m by recurrence: one sine and cosine per phase, whatever the number of waves.

    e^{i m base phase} = e^{i (m - 1) base phase} e^{i base phase}

Rounding grows as m, to 1e-14 at m = 64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

EVEN = 1e-12  # relative: frequencies that are multiples of the first but for rounding


def turning(phase: Array, tau: NDArray[Any]) -> NDArray[np.complex128]:
    """Return `e^{i tau phase}`, (phases, frequencies).

    Examples
    --------
    >>> phase, tau = np.linspace(-3, 3, 5), 0.7 * np.arange(1.0, 9.0)
    >>> bool(np.allclose(turning(phase, tau), np.exp(1j * np.outer(phase, tau)), rtol=0, atol=1e-14))
    True
    """
    if tau.size < 2 or np.abs(tau - tau[0] * np.arange(1, tau.size + 1)).max() > EVEN * abs(tau[0]):
        return np.asarray(np.exp(1j * np.multiply.outer(phase, tau)))
    out = np.empty((tau.size, phase.size), dtype=complex)
    out[0] = np.exp(1j * tau[0] * phase)
    for m in range(1, tau.size):
        np.multiply(out[m - 1], out[0], out=out[m])
    return out.T
