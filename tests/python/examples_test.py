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

    def run_example(self, name, *arguments, ranks=2):
        with tempfile.TemporaryDirectory(prefix='gs') as folder:
            script = os.path.join(EXAMPLES, name + '.py')
            command = [sys.executable, script, *arguments]
            if ranks > 1:
                command = [COMMAND, 'train',
                           os.path.join(EXAMPLES, name + '.textproto'), '--set',
                           'cluster.num_workers=%d' % ranks, '--run-dir=run', '--',
                           *command]
            process = subprocess.run(command, cwd=folder, timeout=300, text=True,
                                     stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, check=False)
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
        out = self.run_example('mini_gpt', '--steps=60', '--width=32')
        losses = [float(loss) for loss in re.findall(r'loss ([0-9.]+)', out)]
        # Losses of single batches are noisy.
        self.assertLess(min(losses), losses[0] - 0.3, out)

    def test_diffs_are_those_of_the_files(self):
        for name in 'mnist', 'mini_gpt', 'ddp_hook':
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


if __name__ == '__main__':
    unittest.main()
