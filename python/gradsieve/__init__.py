"""Gradsieve for Python: a training script keeps its model, its data and its
optimizer, and sieves what its ranks send each other.

``gradsieve.torch`` is for scripts of PyTorch::

    import gradsieve.torch as gs

It needs the programs of Gradsieve of the same version, and nothing else.
"""

__version__ = '0.1.0'
