"""The oracle of neuron-harness: exact tanh neurons, their bounds, and the formats they round to.

Needs mpmath and numpy only; knows nothing of torch or of the harness built on it.
"""

from reference.formats import BFLOAT16, BINARY16, BINARY32, BINARY64, FORMATS, Format
from reference.neuron import ExactNeuron, RoundedNeuron, neuron, tanh_gradient

__all__ = [
    "BFLOAT16",
    "BINARY16",
    "BINARY32",
    "BINARY64",
    "FORMATS",
    "ExactNeuron",
    "Format",
    "RoundedNeuron",
    "neuron",
    "tanh_gradient",
]
