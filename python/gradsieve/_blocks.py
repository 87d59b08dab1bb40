"""The shared block's arrays as tensors."""

from typing import List, Optional, Sequence, Tuple

import torch

from gradsieve import _session


def views_of(block: Optional[_session.Block], parameters: Sequence[torch.Tensor]
             ) -> Tuple[List[torch.Tensor], List[torch.Tensor]]:
    """Returns, for the tensors with which the block was made, views of its array
    from this process, and of that to it."""
    assert block is not None
    views = ([], [])  # type: Tuple[List[torch.Tensor], List[torch.Tensor]]
    for start, of_array in zip((block.in_offset, block.out_offset), views):
        array = torch.frombuffer(block.memory, dtype=torch.float32,
                                 count=block.num_elements, offset=start)
        offset = 0
        for parameter in parameters:
            end = offset + parameter.numel()
            of_array.append(array[offset:end].view(parameter.shape))
            offset = end
    return views
