"""How a comparison starts the program that it compares with."""
import os

# Some machines set these for old OpenBLAS; they slow a current one.
SLOWING = {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"}


def environment(**more):
    """This process's environment without what slows a peer, and with more."""
    return {name: value for name, value in os.environ.items()
            if name not in SLOWING} | more
