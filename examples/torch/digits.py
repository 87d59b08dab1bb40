"""Images of digits: MNIST from its files, or drawn ones, which need no files."""
import gzip
import os

import torch
from torch.utils.data import TensorDataset

# Each digit's seven rows of five pixels.
_FONT = [
    '01110 10001 10011 10101 11001 10001 01110',
    '00100 01100 00100 00100 00100 00100 01110',
    '01110 10001 00001 00110 01000 10000 11111',
    '01110 10001 00001 00110 00001 10001 01110',
    '00010 00110 01010 10010 11111 00010 00010',
    '11111 10000 11110 00001 00001 10001 01110',
    '00110 01000 10000 11110 10001 10001 01110',
    '11111 00001 00010 00100 01000 01000 01000',
    '01110 10001 10001 01110 10001 10001 01110',
    '01110 10001 10001 01111 00001 00010 01100',
]


def Digits(folder, train):
    """A data set of images [1, 28, 28] and their labels.

    Args:
      folder: of MNIST's four files, plain or .gz; None: 4000 drawn images, or 1000
        for tests.
      train: whether the training images are meant.
    """
    if folder is not None:
        name = 'train' if train else 't10k'
        images = _read(folder, name + '-images-idx3-ubyte', 16)
        labels = _read(folder, name + '-labels-idx1-ubyte', 8).long()
        return TensorDataset(images.view(-1, 1, 28, 28).float() / 255, labels)
    generator = torch.Generator().manual_seed(int(train))
    count = 4000 if train else 1000
    labels = torch.randint(0, 10, (count,), generator=generator)
    images = 0.3 * torch.rand(count, 1, 28, 28, generator=generator)
    corners = torch.randint(2, 6, (count, 2), generator=generator).tolist()
    shapes = [torch.tensor([[float(pixel) for pixel in row] for row in text.split()])
              for text in _FONT]
    large = [shape.repeat_interleave(3, 0).repeat_interleave(3, 1) for shape in shapes]
    for i, (label, (y, x)) in enumerate(zip(labels.tolist(), corners)):
        images[i, 0, y:y + 21, x:x + 15] += 0.7 * large[label]
    return TensorDataset(images, labels)


def _read(folder, name, header):
    path = os.path.join(folder, name)
    if os.path.exists(path):
        with open(path, 'rb') as file:
            data = file.read()
    else:
        with gzip.open(path + '.gz') as file:
            data = file.read()
    return torch.frombuffer(bytearray(data[header:]), dtype=torch.uint8)
