"""Networks as PyTorch's users write them, for its exporters to ONNX.

Each has a function that makes the module, and one that makes a batch.
"""
import torch
from torch import nn
from torch.nn import functional

WORDS = 11


class Mlp(nn.Module):
  """Images that view() flattens, and a softmax of its own."""

  def __init__(self):
    super().__init__()
    self.fc1 = nn.Linear(64, 12)
    self.fc2 = nn.Linear(12, 10)

  def forward(self, x):
    x = functional.relu(self.fc1(x.view(x.size(0), -1)))
    return functional.log_softmax(self.fc2(x), 1)


class Block(nn.Module):

  def __init__(self, in_channels, channels, stride):
    super().__init__()
    self.conv1 = nn.Conv2d(in_channels, channels, 3, stride, 1, bias=False)
    self.bn1 = nn.BatchNorm2d(channels)
    self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
    self.bn2 = nn.BatchNorm2d(channels)
    self.downsample = None
    if stride != 1:
      self.downsample = nn.Sequential(
          nn.Conv2d(in_channels, channels, 1, stride, bias=False),
          nn.BatchNorm2d(channels))

  def forward(self, x):
    y = functional.relu(self.bn1(self.conv1(x)))
    y = self.bn2(self.conv2(y))
    return functional.relu(
        y + (x if self.downsample is None else self.downsample(x)))


class Vgg(nn.Module):

  def __init__(self):
    super().__init__()
    layers, channels = [], 3
    for width in [6, 'M', 8, 8, 'M']:
      if width == 'M':
        layers.append(nn.MaxPool2d(2, 2))
      else:
        layers += [nn.Conv2d(channels, width, 3, padding=1),
                   nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
        channels = width
    self.features = nn.Sequential(*layers)
    self.avgpool = nn.AdaptiveAvgPool2d((2, 2))
    self.classifier = nn.Sequential(
        nn.Linear(32, 16), nn.ReLU(True), nn.Dropout(), nn.Linear(16, 10))

  def forward(self, x):
    return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


class GlobalMean(nn.Module):

  def __init__(self):
    super().__init__()
    self.conv = nn.Conv2d(3, 6, 3, padding=1)
    self.pool = nn.AvgPool2d(3, 2, 1)
    self.fc = nn.Linear(6, 10)

  def forward(self, x):
    return self.fc(self.pool(torch.tanh(self.conv(x))).mean([2, 3]))


class LanguageModel(nn.Module):
  """Options: how the decoder's weight, the state and the rows are given."""

  def __init__(self, cell, layers=1, batch_first=False, tied=False, state=False,
               rows=False):
    super().__init__()
    self.drop = nn.Dropout(0.2)
    self.encoder = nn.Embedding(WORDS, 7)
    self.rnn = cell(7, 7, layers, batch_first=batch_first,
                    dropout=0.2 if layers > 1 else 0.)
    self.decoder = nn.Linear(7, WORDS)
    if tied:
      self.decoder.weight = self.encoder.weight
    self.state = state
    self.rows = rows

  def forward(self, tokens):
    x = self.drop(self.encoder(tokens))
    if self.state:
      zeros = x.new_zeros(self.rnn.num_layers, tokens.size(1), 7)
      y, _ = self.rnn(x, (zeros, zeros))
    else:
      y, _ = self.rnn(x)
    y = self.drop(y)
    return self.decoder(y.view(-1, 7) if self.rows else y)


class Mixed(nn.Module):

  def __init__(self):
    super().__init__()
    self.embedding = nn.Embedding(WORDS, 5)
    self.first = nn.LSTM(5, 6)
    self.second = nn.GRU(6, 4)
    self.out = nn.Linear(4, WORDS)

  def forward(self, tokens):
    x, _ = self.first(self.embedding(tokens))
    x, _ = self.second(torch.tanh(x))
    return self.out(x)


class TextClassifier(nn.Module):
  """Of a sequence: its last step, or the mean over its steps."""

  def __init__(self, cell, batch_first=False, mean=False):
    super().__init__()
    self.embedding = nn.Embedding(WORDS, 5)
    self.rnn = cell(5, 6, batch_first=batch_first)
    self.out = nn.Linear(6, 3)
    self.batch_first = batch_first
    self.mean = mean

  def forward(self, tokens):
    x, _ = self.rnn(self.embedding(tokens))
    axis = int(self.batch_first)
    return self.out(x.mean(axis) if self.mean else x.select(axis, -1))


def _sequential_batch_norm():
  return nn.Sequential(
      nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
      nn.Conv2d(4, 6, 3, bias=False), nn.BatchNorm2d(6), nn.ReLU(),
      nn.Flatten(), nn.Linear(150, 10))


def _sequential_dropout():
  return nn.Sequential(
      nn.Conv2d(3, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout2d(0.25),
      nn.Conv2d(4, 6, 3), nn.Tanh(), nn.Dropout(), nn.Flatten(),
      nn.Linear(150, 12), nn.BatchNorm1d(12), nn.Sigmoid(), nn.Linear(12, 10))


def _batch_norm_first():
  return nn.Sequential(
      nn.BatchNorm2d(3), nn.Conv2d(3, 6, 3, 2, groups=3), nn.ReLU(),
      nn.BatchNorm2d(6), nn.Flatten(), nn.Linear(294, 10))


def _residual():
  return nn.Sequential(
      nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
      Block(8, 8, 1), Block(8, 12, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
      nn.Linear(12, 10))


def _images():
  return torch.rand(4, 3, 16, 16)


def _tokens():
  return torch.randint(WORDS, (5, 3))


NETWORKS = {
    'mlp_flatten': (
        lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 12), nn.ReLU(),
                              nn.Dropout(0.3), nn.Linear(12, 10)),
        lambda: torch.rand(4, 1, 8, 8)),
    'mlp_view': (Mlp, lambda: torch.rand(4, 1, 8, 8)),
    'sequential_batch_norm': (_sequential_batch_norm, _images),
    'sequential_dropout': (_sequential_dropout, _images),
    'batch_norm_first': (_batch_norm_first, _images),
    'vgg': (Vgg, _images),
    'residual': (_residual, _images),
    'global_mean': (GlobalMean, _images),
    'lstm': (lambda: LanguageModel(nn.LSTM, rows=True), _tokens),
    'gru_batch_first': (lambda: LanguageModel(nn.GRU, 3, batch_first=True),
                        _tokens),
    'stacked_lstm': (lambda: LanguageModel(nn.LSTM, 2, tied=True, state=True),
                     _tokens),
    'lstm_gru': (Mixed, _tokens),
    'last_step': (lambda: TextClassifier(nn.GRU), _tokens),
    'last_step_batch_first': (
        lambda: TextClassifier(nn.LSTM, batch_first=True), _tokens),
    'mean_of_steps': (lambda: TextClassifier(nn.LSTM, mean=True), _tokens),
    'mean_of_steps_batch_first': (
        lambda: TextClassifier(nn.GRU, batch_first=True, mean=True), _tokens),
}
