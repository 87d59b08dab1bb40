"""The examples run, alone and as several ranks, and their diffs are true."""

import difflib
import os
import re
import subprocess
import sys
import tempfile
import unittest

from ranks import COMMAND

EXAMPLES = os.environ['GRADSIEVE_EXAMPLES']


class ExamplesTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='gs')
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_example(self, name, *arguments, ranks=2, job=''):
        command = [sys.executable, os.path.join(EXAMPLES, name + '.py'), *arguments]
        if ranks > 1:
            command = [COMMAND, 'train',
                       os.path.join(EXAMPLES, (job or name) + '.textproto'),
                       '--set', 'cluster.num_workers=%d' % ranks,
                       '--run-dir=' + tempfile.mkdtemp(dir=self.folder), '--',
                       *command]
        process = subprocess.run(command, cwd=self.folder, timeout=300, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 check=False)
        self.assertEqual(process.returncode, 0, process.stdout)
        return process.stdout

    def test_mnist_learns(self):
        for ranks in 1, 2:
            out = self.run_example('mnist', '--epochs=3', ranks=ranks)
            accuracy = float(re.findall(r'accuracy ([0-9.]+)', out)[-1])
            self.assertGreater(accuracy, 0.9, out)

    def test_the_script_of_ddp_learns(self):
        out = self.run_example('ddp_hook', '--epochs=3')
        accuracy = float(re.findall(r'accuracy ([0-9.]+)', out)[-1])
        self.assertGreater(accuracy, 0.9, out)

    def test_mini_gpt_learns(self):
        for job, steps in (('mini_gpt', 60), ('local_sgd', 60), ('diloco', 100),
                           ('sparse_loco', 90)):
            out = self.run_example('mini_gpt', '--steps=%d' % steps, '--width=32',
                                   job=job)
            losses = [float(loss) for loss in re.findall(r'step \d+ loss ([0-9.]+)', out)]
            # Losses of single batches are noisy.
            self.assertLess(min(losses), losses[0] - 0.3, out)

    def test_resnet20_goes_on_from_its_checkpoint(self):
        out = self.run_example('resnet20_cifar', '--width=4', '--epochs=3')
        out += self.run_example('resnet20_cifar', '--width=4', '--epochs=6',
                                '--resume')
        found = re.findall(r'epoch (\d) accuracy ([0-9.]+)', out)
        self.assertEqual([epoch for epoch, _ in found], list('012345'), out)
        self.assertGreater(float(found[-1][1]), 0.4, out)

    def test_word_lm_learns(self):
        out = self.run_example('word_lm', '--width=32', '--epochs=5')
        # Words that are drawn without regard to those before have 22.
        perplexity = float(re.findall(r'perplexity ([0-9.]+)', out)[-1])
        self.assertLess(perplexity, 8, out)

    def test_diffs_and_their_lengths_in_the_document_are_true(self):
        plain = [file[:-len('_plain.py')] for file in os.listdir(EXAMPLES)
                 if file.endswith('_plain.py')]
        self.assertEqual(len(plain), 5)
        with open(os.path.join(EXAMPLES, '../../docs/pytorch.md')) as file:
            page = file.read()
        for name in plain:
            files = [os.path.join(EXAMPLES, name + ending)
                     for ending in ('_plain.py', '.py')]
            texts = []
            for file in files:
                with open(file) as opened:
                    texts.append(opened.read().splitlines(keepends=True))
            names = [os.path.basename(file) for file in files]
            diff = ''.join(difflib.unified_diff(*texts, *names, n=1))
            with open(os.path.join(EXAMPLES, name + '.diff')) as file:
                self.assertEqual(file.read(), diff)
            changed = [line for line in diff.splitlines()[2:]
                       if line[0] in '+-']
            self.assertLessEqual(len(changed), 15)
            self.assertRegex(page, r'\| `%s` \|.*\| %d \|\n' % (name, len(changed)))


if __name__ == '__main__':
    unittest.main()
