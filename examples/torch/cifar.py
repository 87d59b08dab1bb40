"""Images of ten classes: CIFAR-10 from its files, or drawn ones, which need no
files."""
import math
import os

import torch
from torch.utils.data import TensorDataset


def Cifar10(folder, train):
    """A data set of images [3, 32, 32] and their labels.

    Args:
      folder: of CIFAR-10's six binary files; None: 1000 drawn images, or 500 for
        tests.
      train: whether the training images are meant.
    """
    if folder is None:
        return _stripes(1000 if train else 500,
                        torch.Generator().manual_seed(int(train)))
    names = ['data_batch_%d' % i for i in range(1, 6)] if train else ['test_batch']
    data = bytearray()
    for name in names:
        with open(os.path.join(folder, name + '.bin'), 'rb') as file:
            data += file.read()
    records = torch.frombuffer(data, dtype=torch.uint8).view(-1, 1 + 3 * 32 * 32)
    images = records[:, 1:].reshape(-1, 3, 32, 32).float() / 255
    return TensorDataset((images - 0.473) / 0.251, records[:, 0].long())


def _stripes(count, generator):
    """Stripes of five directions and two widths, the classes, in noise."""
    labels = torch.randint(10, (count,), generator=generator)
    angles = (labels % 5 * math.pi / 5).view(-1, 1, 1)
    widths = (2 + labels // 5 * 2).view(-1, 1, 1)
    y, x = torch.arange(32.).view(32, 1), torch.arange(32.)
    stripes = torch.sin((x * angles.cos() + y * angles.sin()) / widths)
    noise = torch.randn(count, 3, 32, 32, generator=generator)
    return TensorDataset(stripes.unsqueeze(1) + 0.5 * noise, labels)
