#!/usr/bin/python3
"""Time of a training step of lstm_lm, ours and PyTorch's in turns, one thread.

2 x 650 units, 10,000 words, 35 steps, batch 20; forward, backward and an update
by SGD with momentum; dropout 0.5 and no clipping on both sides. Needs PyTorch
(Debian: python3-torch) and

    bazel build --config=opt //benchmarks/training_step:training_step_bench
    benchmarks/training_step/lstm_lm_beside_torch.py [ROUNDS]

Times are the processor's, which other work on the machine lengthens less than the
clock's. Prints the ratio of each round, and by kind of layer the median over the
rounds of our time by the clock.
"""
import json
import os
import resource
import statistics
import subprocess
import sys
import time

# Before PyTorch starts OpenBLAS, whose threads it does not count.
os.environ['OMP_NUM_THREADS'] = '1'

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
  """Milliseconds of a step."""
  torch.manual_seed(1)
  model = LanguageModel()
  optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
  tokens = torch.randint(WORDS, (STEPS, BATCH))
  labels = torch.randint(WORDS, (STEPS * BATCH,))
  times = []
  losses = []
  for _ in range(WARM_UP + TIMED):
    start = time.process_time()
    optimizer.zero_grad()
    logits = model(tokens).view(-1, WORDS)
    loss = torch.nn.functional.cross_entropy(logits, labels)
    loss.backward()
    optimizer.step()
    times.append(1e3 * (time.process_time() - start))
    losses.append(loss.item())
  assert losses[-1] < losses[0], losses
  return statistics.mean(times[WARM_UP:])


def run_ours(steps):
  """The report, and all milliseconds of the process."""
  before = resource.getrusage(resource.RUSAGE_CHILDREN)
  output = subprocess.run(
      [BENCH, '--model=lstm_lm', f'--batch={BATCH}', f'--steps={steps}',
       '--json'],
      check=True, stdout=subprocess.PIPE).stdout
  after = resource.getrusage(resource.RUSAGE_CHILDREN)
  return json.loads(output), 1e3 * (after.ru_utime + after.ru_stime -
                                    before.ru_utime - before.ru_stime)


def our_ms():
  """The report, and milliseconds of a step."""
  _, start_ms = run_ours(1)
  report, all_ms = run_ours(1 + TIMED)
  return report, (all_ms - start_ms) / TIMED


def main():
  rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
  torch.set_num_threads(1)
  reports = []
  ratios = []
  for _ in range(rounds):
    theirs = torch_ms()
    report, ours = our_ms()
    reports.append(report)
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
