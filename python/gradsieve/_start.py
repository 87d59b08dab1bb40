"""Which rank this is, and where the programs are."""

import os
import shutil
import sys
from typing import NoReturn, Optional, Sequence

from gradsieve._errors import ConfigError

# In the order in which they are looked at.
RANK_VARIABLES = ('GRADSIEVE_RANK', 'RANK', 'OMPI_COMM_WORLD_RANK',
                  'SLURM_PROCID', 'JOB_COMPLETION_INDEX')
# SLURM_NTASKS is also set where no rank was started.
SIZE_VARIABLES = ('WORLD_SIZE', 'OMPI_COMM_WORLD_SIZE')

# The jobs of scripts that name none, with an optimizer of ours and with DDP's hook.
DELTA_JOB = '''\
name: "script"
model { name: "external" }
worker_optimizer { name: "external" }
compressor { name: "sidco_e" ratio: 0.01 value_code: "int8_block" }
'''
EXCHANGE_JOB = '''\
name: "script"
model { name: "external" }
compressor { value_code: "int8_block" }
downlink { mode: MEAN compressor { value_code: "int8_block" } }
'''


def find_rank(rank: Optional[int]) -> Optional[int]:
    """The given rank, or that of the first variable that is set; or None."""
    return _first_number(rank, RANK_VARIABLES)


def find_size(size: Optional[int]) -> Optional[int]:
    """The given number of ranks, or that of the first variable that is set; or
    None."""
    return _first_number(size, SIZE_VARIABLES)


def find_program(name: str) -> str:
    """The file of the program ``bridge`` or ``server``.

    Raises:
      ConfigError: it is not there.
    """
    here = os.path.dirname(os.path.abspath(__file__))
    candidates = []
    variable = 'GRADSIEVE_' + name.upper()
    if variable in os.environ:
        candidates.append(os.environ[variable])
    # This package from a wheel, and in a clone.
    candidates.append(os.path.join(here, '_bundle', name, name))
    candidates.append(os.path.join(os.path.dirname(os.path.dirname(here)),
                                   'bazel-bin', name, name))
    command = shutil.which('gradsieve')
    if command is not None:
        beside = os.path.dirname(os.path.realpath(command))
        candidates.append(os.path.join(beside, name))
        candidates.append(os.path.join(os.path.dirname(beside), name, name))
    for candidate in candidates:
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    raise ConfigError(
        'the program %s is neither %s; install the wheel that tools/wheel makes, '
        'put gradsieve on PATH (tools/install), or set %s' %
        (name, ' nor '.join(candidates), variable), 'NOT_FOUND')


def run_command() -> NoReturn:
    """Becomes the program ``gradsieve`` that the wheel brings."""
    here = os.path.dirname(os.path.abspath(__file__))
    program = os.path.join(here, '_bundle', 'tools', 'gradsieve')
    os.execv(program, [program, *sys.argv[1:]])


def _first_number(given: Optional[int],
                  variables: Sequence[str]) -> Optional[int]:
    if given is not None:
        return given
    for name in variables:
        if name in os.environ:
            return _number(name)
    return None


def _number(variable: str) -> int:
    text = os.environ[variable]
    try:
        return int(text)
    except ValueError:
        raise ConfigError('%s is "%s"; must be a number' % (variable, text),
                          'INVALID_ARGUMENT') from None
