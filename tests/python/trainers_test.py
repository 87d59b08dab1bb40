"""Scripts of Accelerate and Lightning, where these are installed, as ./test
--interop has them."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

import torch

import gradsieve.torch as gs
from ranks import COMMAND, DELTA, EXCHANGE, Job

EXAMPLES = os.environ['GRADSIEVE_EXAMPLES']

JOB = '''
name: "mine"
model { name: "external" }
%s
cluster { num_workers: 2 num_servers: 1 }
'''

BEGIN = '''
import sys
import torch
from torch.nn import functional as F
import gradsieve.torch as gs

torch.manual_seed(1)
inputs = torch.randn(256, 32)
data = torch.utils.data.TensorDataset(inputs, inputs[:, :4].argmax(1))
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(),
                            torch.nn.Linear(64, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
loader = torch.utils.data.DataLoader(data, batch_size=16, shuffle=True)
'''

ACCELERATE = BEGIN + '''
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
%s
for epoch in range(3):
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), labels)
        accelerator.backward(loss)
        optimizer.step()
'''

HOOK = ACCELERATE % '''
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
model.register_comm_hook(gs.HookState(), gs.hook)
'''

OPTIMIZER = ACCELERATE % '''
gs.init()
optimizer = gs.DistributedOptimizer(optimizer, model)
optimizer, loader = accelerator.prepare(optimizer, loader)
'''

LIGHTNING = BEGIN + '''
import pytorch_lightning as pl

class Exchange(pl.Callback):
    def on_train_start(self, trainer, module):
        trainer.model.register_comm_hook(gs.HookState(), gs.hook)

class Module(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = model

    def configure_optimizers(self):
        return optimizer

    def training_step(self, batch, number):
        return F.cross_entropy(self.model(batch[0]), batch[1])

trainer = pl.Trainer(strategy='ddp', devices=2, max_epochs=3, callbacks=[Exchange()])
trainer.fit(Module(), loader)
'''

# Each rank has half of the batches.
END = '''
with torch.no_grad(), gs.server_weights(model):
    loss = F.cross_entropy(model(data.tensors[0]), data.tensors[1]).item()
sys.stdout.write('%d steps, learnt: %s, loss %r\\n' % (gs.stats()['steps'], loss < 1,
                                                     loss))
gs.finish()
'''


def needs(package):
    return unittest.skipUnless(importlib.util.find_spec(package),
                               package + ' is not installed')


class TrainersTest(unittest.TestCase):

    def check(self, script, mode):
        with tempfile.TemporaryDirectory(prefix='gs') as folder:
            for name, text in ('job', JOB % mode), ('train.py', script + END):
                with open(os.path.join(folder, name), 'w') as file:
                    file.write(text)
            process = subprocess.run(
                [COMMAND, 'train', 'job', '--run-dir=run', '--', sys.executable,
                 'train.py'], cwd=folder, timeout=300, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        out = process.stdout
        self.assertEqual(process.returncode, 0, out)
        said = [line.split('] ', 1)[1] for line in out.splitlines()
                if ' steps, learnt' in line]
        self.assertEqual(len(said), 2, out)
        self.assertIn('24 steps, learnt: True', said[0])
        self.assertEqual(said[0], said[1])

    def test_the_scripts_have_the_lines_of_the_document(self):
        with open(os.path.join(EXAMPLES, '../../docs/pytorch.md')) as file:
            section = file.read().split('## Accelerate and Lightning')[1]
        lines = [line[4:] for line in section.split('\n## ')[0].splitlines()
                 if line.startswith('    ')]
        self.assertGreater(len(lines), 8)
        scripts = (HOOK + OPTIMIZER + LIGHTNING).splitlines()
        for line in lines:
            self.assertIn(line, scripts)

    @needs('accelerate')
    def test_accelerate_with_the_hook(self):
        self.check(HOOK, EXCHANGE)

    @needs('accelerate')
    def test_accelerate_with_the_optimizer(self):
        self.check(OPTIMIZER, DELTA)

    @needs('accelerate')
    def test_an_optimizer_that_accelerate_has_prepared_is_refused(self):
        def prepared(rank):
            import accelerate
            model = torch.nn.Linear(64, 64)
            optimizer = accelerate.Accelerator(cpu=True).prepare(
                torch.optim.SGD(model.parameters(), lr=1))
            gs.DistributedOptimizer(optimizer, model)
        with Job(ranks=1) as job:
            error, = job.run(prepared)
        self.assertIsInstance(error, gs.ConfigError)
        self.assertIn('AcceleratedOptimizer cannot be used with DistributedOptimizer: '
                      'give it the optimizer before accelerator.prepare', str(error))

    @needs('pytorch_lightning')
    def test_lightning_with_the_hook(self):
        self.check(LIGHTNING, EXCHANGE)


if __name__ == '__main__':
    unittest.main()
