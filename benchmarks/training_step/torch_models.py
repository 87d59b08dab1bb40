"""The timed networks in PyTorch, as their users write them."""

import torch
import torch.nn.functional as F
from torch import nn


class ResnetBlock(nn.Module):
    def __init__(self, in_channels, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.stride = stride
        self.added = (channels - in_channels) // 2

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        if self.stride != 1:
            x = F.pad(x[:, :, :: self.stride, :: self.stride],
                      (0, 0, 0, 0, self.added, self.added))
        y += x
        return F.relu(y)


class CifarResnet(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        layers, in_channels = [], 16
        for channels in (16, 32, 64):
            for _ in range(blocks):
                layers.append(ResnetBlock(in_channels, channels,
                                          1 if channels == in_channels else 2))
                in_channels = channels
        self.layers = nn.Sequential(*layers)
        self.linear = nn.Linear(64, 10)

    def forward(self, x):
        x = self.layers(F.relu(self.bn1(self.conv1(x))))
        return self.linear(F.avg_pool2d(x, x.size(3)).flatten(1))


def vgg16():
    layers, in_channels = [], 3
    for entry in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0,
                  512, 512, 512, 0, 512, 512, 512, 0):
        if entry == 0:
            layers.append(nn.MaxPool2d(2))
            continue
        layers += [nn.Conv2d(in_channels, entry, 3, padding=1),
                   nn.BatchNorm2d(entry), nn.ReLU(inplace=True)]
        in_channels = entry
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512, 10))


def cifar_cnn():
    return nn.Sequential(
        nn.Conv2d(3, 32, 5, padding=2), nn.MaxPool2d(3, 2, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(32, 32, 5, padding=2), nn.ReLU(inplace=True),
        nn.AvgPool2d(3, 2, padding=1),
        nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(inplace=True),
        nn.AvgPool2d(3, 2, padding=1),
        nn.Flatten(), nn.Linear(1024, 64), nn.Linear(64, 10))


WORDS, STEPS = 10000, 35


class LanguageModel(nn.Module):
    """Zaremba et al., arXiv 1409.2329, the medium one."""

    def __init__(self, hidden=650):
        super().__init__()
        self.dropout = nn.Dropout(0.5)
        self.encoder = nn.Embedding(WORDS, hidden)
        self.rnn = nn.LSTM(hidden, hidden, 2, dropout=0.5)
        self.decoder = nn.Linear(hidden, WORDS)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.05, 0.05)

    def forward(self, tokens):
        hidden, _ = self.rnn(self.dropout(self.encoder(tokens)))
        return self.decoder(self.dropout(hidden)).view(-1, WORDS)


# Of text: STEPS tokens for each row of the batch.
TEXT_MODELS = {"lstm_lm": LanguageModel}

# Of 3 x 32 x 32 images in 10 classes.
IMAGE_MODELS = {
    "resnet20": lambda: CifarResnet(3),
    "resnet56": lambda: CifarResnet(9),
    "resnet110": lambda: CifarResnet(18),
    "vgg16": vgg16,
    "cifar_cnn": cifar_cnn,
}

MODELS = {**IMAGE_MODELS, **TEXT_MODELS}


def random_batch(model, size):
    """Inputs and labels of one batch for the model of this name."""
    if model in TEXT_MODELS:
        return (torch.randint(WORDS, (STEPS, size)),
                torch.randint(WORDS, (STEPS * size,)))
    return (torch.rand(size, 3, 32, 32).mul(2).sub(1),
            torch.randint(0, 10, (size,)))
