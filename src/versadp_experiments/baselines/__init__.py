"""Every method that the paper names, under one small interface: parameters, `guarantee`, `fit`.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> x = rng.uniform(-1, 1, (2000, 2))
>>> sample = Sample(x, (rng.random(2000) < 1 / (1 + np.exp(-x[:, 0]))).astype(float))
>>> sorted(REGISTRY)[:3]
['Gaussian, truncated Fourier', 'complex corrected score', 'cube density']
>>> found = NoisyGradient().fit(sample, Budget(1.0, 1e-6), rng)
>>> found.values.shape, found.errors.shape
((3,), (3,))
"""

from __future__ import annotations

from versadp_experiments.baselines.cai import CaiRegression
from versadp_experiments.baselines.complex_score import ComplexScore
from versadp_experiments.baselines.cube import CubeDensity, CubeMean
from versadp_experiments.baselines.deconvolution import KernelDensity, PluggedQuantile
from versadp_experiments.baselines.fourier import TruncatedFourier
from versadp_experiments.baselines.functional import OneBit
from versadp_experiments.baselines.gradient import NoisyGradient, NoisyMedian
from versadp_experiments.baselines.histogram import PerturbedHistogram
from versadp_experiments.baselines.linear_system import PenalisedSystem
from versadp_experiments.baselines.method import REGISTRY, Budget, Estimate, Method, Sample
from versadp_experiments.baselines.objective import ObjectivePerturbation
from versadp_experiments.baselines.product import ProductCorrection
from versadp_experiments.baselines.robust import RobustRegression
from versadp_experiments.baselines.sensitivity import NoisyMean, NoisyMoments
from versadp_experiments.baselines.sequential import LocalGLM, LocalMedian
from versadp_experiments.baselines.smoothed import SmoothedCorrection
from versadp_experiments.baselines.synthetic import SyntheticRecords

__all__ = [
    "REGISTRY",
    "Budget",
    "CaiRegression",
    "ComplexScore",
    "CubeDensity",
    "CubeMean",
    "Estimate",
    "KernelDensity",
    "LocalGLM",
    "LocalMedian",
    "Method",
    "NoisyGradient",
    "NoisyMean",
    "NoisyMedian",
    "NoisyMoments",
    "ObjectivePerturbation",
    "OneBit",
    "PenalisedSystem",
    "PerturbedHistogram",
    "PluggedQuantile",
    "ProductCorrection",
    "RobustRegression",
    "Sample",
    "SmoothedCorrection",
    "SyntheticRecords",
    "TruncatedFourier",
]
