"""The arithmetic of the accurate subjects: sums, tanh, slopes and products that round about once.

What there is to say of a number is said once, for Python's floats and for float64 tensors alike: a
single neuron's scalars are floats, which cost a fiftieth of a tensor's, a batch's are tensors.
"""
