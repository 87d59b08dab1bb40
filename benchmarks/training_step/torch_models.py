"""The timed networks in PyTorch, as their users write them, with the names of
parameters that ours have."""

import collections

import torch
import torch.nn.functional as F
from torch import nn


class Lenet5(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc2(F.relu(self.fc1(x.flatten(1)))))
        return self.fc3(x)


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
        self.layer1 = self.stage(blocks, 16, 16)
        self.layer2 = self.stage(blocks, 16, 32)
        self.layer3 = self.stage(blocks, 32, 64)
        self.linear = nn.Linear(64, 10)

    @staticmethod
    def stage(blocks, in_channels, channels):
        first = ResnetBlock(in_channels, channels, channels // in_channels)
        return nn.Sequential(first, *[ResnetBlock(channels, channels, 1)
                                      for _ in range(blocks - 1)])

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.linear(F.avg_pool2d(x, x.size(3)).flatten(1))


class Bottleneck(nn.Module):
    """He et al., CVPR 2016; the stride is at the 3 x 3 convolution."""

    def __init__(self, in_channels, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.downsample = nn.Identity()
        if stride != 1 or in_channels != 4 * width:
            self.downsample = nn.Sequential(
                nn.Conv2d(in_channels, 4 * width, 1, stride, bias=False),
                nn.BatchNorm2d(4 * width))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = F.relu(self.bn2(self.conv2(y)), inplace=True)
        y = self.bn3(self.conv3(y))
        y += self.downsample(x)
        return F.relu(y, inplace=True)


class Resnet50(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.layer1 = self.stage(3, 64, 64, 1)
        self.layer2 = self.stage(4, 256, 128, 2)
        self.layer3 = self.stage(6, 512, 256, 2)
        self.layer4 = self.stage(3, 1024, 512, 2)
        self.fc = nn.Linear(2048, 1000)

    @staticmethod
    def stage(blocks, in_channels, width, stride):
        first = Bottleneck(in_channels, width, stride)
        return nn.Sequential(first, *[Bottleneck(4 * width, width, 1)
                                      for _ in range(blocks - 1)])

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)), inplace=True)
        x = self.layer2(self.layer1(F.max_pool2d(x, 3, 2, 1)))
        x = self.layer4(self.layer3(x))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


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
    return named(features=nn.Sequential(*layers), flatten=nn.Flatten(),
                 classifier=nn.Linear(512, 10))


def named(**modules):
    return nn.Sequential(collections.OrderedDict(modules))


def cifar_cnn():
    return named(
        conv1=nn.Conv2d(3, 32, 5, padding=2),
        pool1=nn.MaxPool2d(3, 2, padding=1), relu1=nn.ReLU(inplace=True),
        conv2=nn.Conv2d(32, 32, 5, padding=2), relu2=nn.ReLU(inplace=True),
        pool2=nn.AvgPool2d(3, 2, padding=1),
        conv3=nn.Conv2d(32, 64, 5, padding=2), relu3=nn.ReLU(inplace=True),
        pool3=nn.AvgPool2d(3, 2, padding=1),
        flatten=nn.Flatten(), ip1=nn.Linear(1024, 64), ip2=nn.Linear(64, 10))


WORDS, STEPS = 10000, 35


class LanguageModel(nn.Module):
    """Zaremba et al., arXiv 1409.2329, the medium one."""

    def __init__(self, hidden=650, words=WORDS):
        super().__init__()
        self.dropout = nn.Dropout(0.5)
        self.encoder = nn.Embedding(words, hidden)
        self.rnn = nn.LSTM(hidden, hidden, 2, dropout=0.5)
        self.decoder = nn.Linear(hidden, words)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.05, 0.05)

    def forward(self, tokens):
        hidden, _ = self.rnn(self.dropout(self.encoder(tokens)))
        return self.decoder(self.dropout(hidden))


# Models of text, with STEPS tokens for each row of the batch.
TEXT_MODELS = {"lstm_lm": LanguageModel}

# Models of images: a function that makes one, the shape of an image, the classes.
IMAGE_MODELS = {
    "lenet5": (Lenet5, (1, 28, 28), 10),
    "resnet20": (lambda: CifarResnet(3), (3, 32, 32), 10),
    "resnet56": (lambda: CifarResnet(9), (3, 32, 32), 10),
    "resnet110": (lambda: CifarResnet(18), (3, 32, 32), 10),
    "vgg16": (vgg16, (3, 32, 32), 10),
    "cifar_cnn": (cifar_cnn, (3, 32, 32), 10),
    "resnet50": (Resnet50, (3, 224, 224), 1000),
}

MODELS = [*IMAGE_MODELS, *TEXT_MODELS]


def new_model(model, hidden=0):
    """`hidden` is the width of a text model; 0 selects its default."""
    if model in TEXT_MODELS:
        make = TEXT_MODELS[model]
        return make(hidden) if hidden else make()
    return IMAGE_MODELS[model][0]()


def learning_rate(model):
    """A learning rate at which the loss of one batch falls from the first steps."""
    return 0.5 if model in TEXT_MODELS else 0.01


def random_batch(model, size):
    """Inputs and labels of one batch for the model of this name."""
    if model in TEXT_MODELS:
        return (torch.randint(WORDS, (STEPS, size)),
                torch.randint(WORDS, (STEPS * size,)))
    _, shape, classes = IMAGE_MODELS[model]
    return (torch.rand(size, *shape).mul(2).sub(1),
            torch.randint(0, classes, (size,)))


def mean_loss(outputs, labels):
    return F.cross_entropy(outputs.view(-1, outputs.shape[-1]), labels)
