#!/usr/bin/python3
"""Time of a training step of lstm_lm, ours and PyTorch's in turns, one thread.

2 x 650 units, 10,000 words, 35 steps, batch 20; forward, backward and an update
by SGD with momentum; dropout 0.5 and no clipping on both sides. Needs PyTorch
(Debian: python3-torch) and

    bazel build --config=opt //benchmarks/training_step:training_step_bench
    benchmarks/training_step/lstm_lm_beside_torch.py [ROUNDS]

Prints the ratio of each round, and the median of the rounds by kind of layer.
"""
import json
import os
import statistics
import subprocess
import sys
import time

import torch

WORDS, HIDDEN, STEPS, BATCH = 10000, 650, 35, 20
BENCH = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), '..', '..', 'bazel-bin',
    'benchmarks', 'training_step', 'training_step_bench')
TIMED, WARM_UP = 5, 2


class LanguageModel(torch.nn.Module):

  def __init__(self):
    super().__init__()
    self.dropout = torch.nn.Dropout(0.5)
    self.encoder = torch.nn.Embedding(WORDS, HIDDEN)
    self.rnn = torch.nn.LSTM(HIDDEN, HIDDEN, 2, dropout=0.5)
    self.decoder = torch.nn.Linear(HIDDEN, WORDS)
    for parameter in self.parameters():
      torch.nn.init.uniform_(parameter, -0.05, 0.05)

  def forward(self, tokens):
    hidden, _ = self.rnn(self.dropout(self.encoder(tokens)))
    return self.decoder(self.dropout(hidden))


def torch_ms():
  """Milliseconds of a step (median)."""
  torch.manual_seed(1)
  model = LanguageModel()
  optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
  tokens = torch.randint(WORDS, (STEPS, BATCH))
  labels = torch.randint(WORDS, (STEPS * BATCH,))
  times = []
  losses = []
  for _ in range(WARM_UP + TIMED):
    start = time.perf_counter()
    optimizer.zero_grad()
    logits = model(tokens).view(-1, WORDS)
    loss = torch.nn.functional.cross_entropy(logits, labels)
    loss.backward()
    optimizer.step()
    times.append(1e3 * (time.perf_counter() - start))
    losses.append(loss.item())
  assert losses[-1] < losses[0], losses
  return statistics.median(times[WARM_UP:])


def our_report():
  output = subprocess.run(
      [BENCH, '--model=lstm_lm', f'--batch={BATCH}', f'--steps={TIMED}',
       '--json'],
      check=True, stdout=subprocess.PIPE,
      env=dict(os.environ, OMP_NUM_THREADS='1')).stdout
  return json.loads(output)


def main():
  rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
  torch.set_num_threads(1)
  reports = []
  ratios = []
  for _ in range(rounds):
    theirs = torch_ms()
    reports.append(our_report())
    ours = reports[-1]['step_ms']
    ratios.append(theirs / ours)
    print(f'PyTorch {torch.__version__} {theirs:.1f} ms, ours {ours:.1f} ms: '
          f'{ratios[-1]:.2f} x', flush=True)
  print(f'median ratio {statistics.median(ratios):.2f} x')
  for kind in reports[0]['kinds']:
    ways = [statistics.median(r['kinds'][kind][way] for r in reports)
            for way in ('forward_ms', 'backward_ms')]
    print(f'{kind:16} {ways[0]:8.1f} {ways[1]:8.1f}')


if __name__ == '__main__':
  main()
