#!/usr/bin/env python3
"""What other programs read and compute, beside ours.

The others are PyTorch, with its own exporter, ONNX's checker, ONNX Runtime, and the
packages safetensors and tensorboard; ./test --interop installs them, builds ours,
and runs this with that Python.
"""
import json
import logging
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

import numpy as np
import onnx
import onnxruntime
import safetensors.torch
from tensorboard.backend.event_processing import event_accumulator
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / 'benchmarks'
sys.path.insert(0, str(BENCHMARKS / 'training_step'))
import onnx_networks  # pylint: disable=wrong-import-position
import torch_models  # pylint: disable=wrong-import-position

# The exporter warns of each package that is not installed.
logging.disable(logging.WARNING)

TOLERANCE = 1e-5
WORDS = 170  # In the text that "phrases" generates.

JOB = '''
  name: "interop"
  model { name: "%s" %s }
  data { name: "%s" %s }
  training { batch_size: 8 epochs: 1 }
  worker_optimizer { name: "momentum" learning_rate: 0.05 }
  compressor { name: "topk" ratio: 0.1 }
  cluster { num_workers: 2 num_servers: 1 }
'''
FEW = '{ train_examples: 64 test_examples: 50 }'
# A job for each network, the module in PyTorch, and a batch.
NETWORKS = {
    'lenet5': (JOB % ('lenet5', '', 'digits', 'digits ' + FEW),
               torch_models.Lenet5, lambda: torch.rand(4, 1, 28, 28)),
    'resnet20': (JOB % ('resnet20', '', 'shapes', 'shapes ' + FEW),
                 lambda: torch_models.CifarResnet(3),
                 lambda: torch.rand(4, 3, 32, 32)),
    'lstm_lm': (JOB % ('lstm_lm', 'lstm_lm { hidden: 24 }', 'phrases', ''),
                lambda: torch_models.LanguageModel(24, WORDS),
                lambda: torch.randint(WORDS, (7, 3))),
}


def run(*command):
  done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT, text=True, check=False)
  if done.returncode != 0:
    raise AssertionError(f'{command} exits with {done.returncode}:\n'
                         f'{done.stdout}')
  return done.stdout


def gradsieve(*arguments):
  return run(ROOT / 'bazel-bin/tools/gradsieve', *arguments)


def make_values_matter(module):
  """Statistics of a new module do almost nothing."""
  with torch.no_grad():
    for key, buffer in module.named_buffers():
      if key.endswith('running_mean'):
        buffer.uniform_(-0.5, 0.5)
      elif key.endswith('running_var'):
        buffer.uniform_(0.5, 2)
  return module


def write_png(path, image):
  """image: bytes of [height, width, 3]."""
  height, width, _ = image.shape
  header = struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0)
  # Each row begins with the number of its filter: none.
  rows = b''.join(b'\0' + row.tobytes() for row in image)
  file = b'\x89PNG\r\n\x1a\n'
  for kind, content in ((b'IHDR', header), (b'IDAT', zlib.compress(rows)),
                        (b'IEND', b'')):
    file += struct.pack('>I', len(content)) + kind + content
    file += struct.pack('>I', zlib.crc32(kind + content))
  path.write_bytes(file)


class Interop(unittest.TestCase):

  def setUp(self):
    self.folder = pathlib.Path(tempfile.mkdtemp(prefix='gradsieve-interop.'))
    self.addCleanup(shutil.rmtree, self.folder)
    torch.manual_seed(1)
    torch.set_num_threads(1)

  def write_job(self, text):
    path = self.folder / 'job.textproto'
    path.write_text(text)
    return path

  def loss(self, job, weights):
    report = self.folder / 'evaluation.json'
    gradsieve('evaluate', job, f'--weights={weights}', f'--json={report}')
    return json.loads(report.read_text())['test_loss']

  def network(self, name):
    """A job, a module with values that all matter, its weights and a batch."""
    job, new_module, new_batch = NETWORKS[name]
    module = make_values_matter(new_module().eval())
    weights = self.folder / 'torch.safetensors'
    safetensors.torch.save_file(module.state_dict(), weights)
    return self.write_job(job), module, weights, new_batch()

  def check_export(self, job, weights, module, batch):
    """What we export computes in ONNX Runtime what the module computes."""
    path = self.folder / 'ours.onnx'
    gradsieve('model', 'export', job, f'--weights={weights}',
              f'--output={path}')
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(
        path, providers=['CPUExecutionProvider'])
    [found] = session.run(None, {'input': batch.numpy()})
    with torch.no_grad():
      expected = module(batch).numpy()
    self.assertGreater(np.abs(expected).max(), 0.01)
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)

  def test_onnx_runtime_computes_what_we_export(self):
    for name in NETWORKS:
      with self.subTest(name):
        job, module, weights, batch = self.network(name)
        self.check_export(job, weights, module, batch)

  def test_we_compute_what_pytorch_exports(self):
    for name in NETWORKS:
      with self.subTest(name):
        job, module, weights, batch = self.network(name)
        theirs, folder = self.folder / 'theirs.onnx', self.folder / 'net'
        torch.onnx.export(module, (batch,), theirs, verbose=False)
        gradsieve('model', 'import', theirs, f'--output={folder}')
        expected = self.loss(job, weights)
        data = job.read_text().split('\n', 3)[3]
        job = self.write_job((folder / 'model.textproto').read_text() + data)
        imported = folder / 'weights.safetensors'
        self.assertAlmostEqual(self.loss(job, imported), expected,
                               delta=TOLERANCE)
        self.check_export(job, imported, module, batch)

  def test_what_pytorchs_exporters_write_by_default_is_imported(self):
    expected = {}
    for name, (new_module, new_batch) in onnx_networks.NETWORKS.items():
      module, batch = make_values_matter(new_module().eval()), new_batch()
      with torch.no_grad():
        outputs = module(batch)
      batch_first = name.endswith('batch_first')
      turned = (lambda x: x.transpose(0, 1).contiguous()) if batch_first else (
          lambda x: x)
      batch_axis = int(batch.dtype == torch.int64 and not batch_first)
      for exporter, options in {
          'legacy': {'dynamo': False}, 'default': {},
          'legacy_dynamic': {
              'dynamo': False, 'input_names': ['x'],
              'dynamic_axes': {'x': {batch_axis: 'batch'}}}}.items():
        folder = self.folder / f'{name}.{exporter}'
        folder.mkdir()
        torch.onnx.export(module, (batch,), folder / 'net.onnx', verbose=False,
                          **options)
        with self.subTest(folder.name):
          said = gradsieve('model', 'import', folder / 'net.onnx',
                           f'--output={folder}')
          self.assertIn('Put the block of', said)
          self.assertIn('leaves out Dropout', said)
          values = {'inputs': turned(batch).float(),
                    'outputs': turned(outputs) if outputs.dim() == 3 else outputs}
          if isinstance(module, onnx_networks.TextClassifier):
            values['vocabulary'] = torch.tensor([float(onnx_networks.WORDS)])
          safetensors.torch.save_file(values, folder / 'batch.safetensors')
          expected[folder] = values['outputs']
    run(ROOT / 'bazel-bin/tests/models/network_outputs', *expected)
    for folder, outputs in expected.items():
      with self.subTest(folder.name):
        found = safetensors.torch.load_file(folder / 'outputs.safetensors')
        if folder.name.startswith('mlp_view'):
          # Its softmax is left out.
          found['outputs'] = found['outputs'].log_softmax(1)
        np.testing.assert_allclose(found['outputs'], outputs, rtol=0,
                                   atol=TOLERANCE)

  def test_weights_and_events_of_a_training(self):
    job, module, _, _ = self.network('resnet20')
    out = self.folder / 'run'
    gradsieve('train', job, '--tensorboard', f'--run-dir={out}')
    with self.subTest('weights go to PyTorch and back'):
      weights = safetensors.torch.load_file(out / 'weights.safetensors')
      for key, value in module.state_dict().items():
        if key.endswith('num_batches_tracked'):
          weights[key] = value
      module.load_state_dict(weights)
      back = self.folder / 'back.safetensors'
      safetensors.torch.save_file(module.state_dict(), back)
      self.assertEqual(self.loss(job, back),
                       self.loss(job, out / 'weights.safetensors'))
    with self.subTest('TensorBoard finds the records'):
      events = event_accumulator.EventAccumulator(
          str(out), size_guidance={'scalars': 0, 'histograms': 0})
      events.Reload()
      read = json.loads(run(ROOT / 'tests/tools/read_events', out))
      tags = events.Tags()
      self.assertIn('training/loss', tags['scalars'])
      self.assertIn('residual/bucket_0', tags['histograms'])
      self.assertEqual(set(tags['scalars']), set(read['scalars']))
      self.assertEqual(set(tags['histograms']), set(read['histograms']))
      for tag, expected in read['scalars'].items():
        self.assertEqual({str(e.step): e.value for e in events.Scalars(tag)},
                         expected)
      for tag, expected in read['histograms'].items():
        self.assertEqual(
            {str(e.step): (e.histogram_value.bucket_limit,
                           e.histogram_value.bucket)
             for e in events.Histograms(tag)},
            {step: (h['bucket_limit'], h['bucket'])
             for step, h in expected.items()})

  def test_fine_tuning_moves_weights_as_pytorch_does(self):
    """A network for 100 classes goes on with two, its first layers frozen."""
    torch.manual_seed(2)
    pixels = torch.randint(256, (16, 32, 32, 3), dtype=torch.uint8)
    for i, image in enumerate(pixels):
      for part in 'train', 'test':
        path = self.folder / f'photos/{part}/{i // 8}/{i:02}.png'
        path.parent.mkdir(parents=True, exist_ok=True)
        write_png(path, image.numpy())
    # Those of image_folder.
    mean = torch.tensor([0.485, 0.456, 0.406])
    deviation = torch.tensor([0.229, 0.224, 0.225])
    images = ((pixels / 255 - mean) / deviation).permute(0, 3, 1, 2)
    labels = torch.arange(16) // 8

    module = make_values_matter(torch_models.CifarResnet(3))
    state = module.state_dict()
    *_, last, _ = state
    last = last.split('.')[0]
    state.update({key: torch.randn(100, *value.shape[1:])
                  for key, value in state.items() if key.startswith(last)})
    weights = self.folder / 'pretrained.safetensors'
    safetensors.torch.save_file(state, weights)
    job = self.write_job(f'''
      name: "fine-tuning"
      model {{ name: "resnet20" initial_weights: "{weights}" ignore: "{last}.*" }}
      data {{
        name: "image_folder" directory: "{self.folder}/photos"
        image_folder {{ side: 32 test_resize: 32 min_area: 1 flip: false }}
      }}
      training {{ batch_size: 16 epochs: 20 }}
      optimizer {{
        name: "momentum" learning_rate: 0.002 weight_decay: 1e-3
        layer_rates {{ layers: "*" rate: 0 }}
        layer_rates {{ layers: ["layer3.*", "*.bn2.bias"] rate: 0.1 }}
        layer_rates {{ layers: "{last}.*" }}
      }}
      compressor {{ name: "none" }}
      cluster {{ num_workers: 1 num_servers: 2 }}
    ''')

    def weights_of(run_directory, *options):
      gradsieve('train', job, f'--run-dir={run_directory}', *options)
      return safetensors.torch.load_file(run_directory / 'weights.safetensors')

    first = weights_of(self.folder / 'first', '--set=training.epochs=1',
                       '--set=optimizer.learning_rate=1e-30')
    new_layer = {name: value for name, value in first.items()
                 if name.startswith(last)}
    for mode in 'optimizer', 'worker_optimizer':
      with self.subTest(mode):
        job.write_text(job.read_text().replace('      optimizer', f'      {mode}'))
        tuned = weights_of(self.folder / mode)
        module = torch_models.CifarResnet(3)
        setattr(module, last, torch.nn.Linear(64, 2))
        module.load_state_dict({**state, **new_layer})
        # Rounding grows from step to step: in single precision PyTorch is
        # further from this than we are.
        module.double()
        groups = {}
        for name, parameter in module.named_parameters():
          rate = (1 if name.startswith(last) else
                  0.1 if name.startswith('layer3') or name.endswith('bn2.bias')
                  else 0)
          parameter.requires_grad = rate > 0
          groups.setdefault(rate, []).append(parameter)
        frozen = groups.pop(0)
        self.assertGreater(len(frozen), 20)
        optimizer = torch.optim.SGD(
            [{'params': p, 'lr': 0.002 * rate} for rate, p in groups.items()],
            momentum=0.9, weight_decay=1e-3)
        module.train()
        for _ in range(20):
          optimizer.zero_grad()
          torch.nn.functional.cross_entropy(
              module(images.double()), labels).backward()
          optimizer.step()
        moved = 0
        for name, value in module.state_dict().items():
          if name.endswith('num_batches_tracked'):
            continue
          # Sums of many activations.
          statistic = '.running_' in name
          np.testing.assert_allclose(
              tuned[name], value, rtol=0,
              atol=10 * TOLERANCE if statistic else TOLERANCE, err_msg=name)
          if statistic:
            continue
          moved = max(moved, (tuned[name] - first[name]).abs().max())
        self.assertGreater(moved, 0.01)
        for name, parameter in module.named_parameters():
          if not parameter.requires_grad:
            self.assertTrue(tuned[name].equal(state[name]), name)

  def test_a_classifier_of_texts_learns_as_pytorchs(self):
    torch.manual_seed(3)
    steps, num_words, num_texts = 6, 20, 12
    # The k-th word is the k-th most frequent one.
    lengths = torch.randint(2, steps + 1, (num_texts,))
    texts = [torch.randint(num_words, (n,)).tolist() for n in lengths]
    counts = [sum(text.count(w) for text in texts) for w in range(num_words)]
    flat = [w for text in texts for w in text]
    words = sorted(set(flat), key=lambda w: (-counts[w], flat.index(w)))
    tokens = torch.zeros(steps, num_texts, dtype=torch.int64)
    for i, text in enumerate(texts):
      for t, word in enumerate(text):
        tokens[steps - len(text) + t, i] = 2 + words.index(word)
    labels = torch.arange(num_texts) % 3
    lines = [f'class {label}\t' + ' '.join(f'Word{w}' for w in text)
             for label, text in zip(labels.tolist(), texts)]
    for file in 'train.tsv', 'test.tsv':
      (self.folder / file).write_text('\n'.join(lines) + '\n')

    for mean in False, True:
      with self.subTest('mean of steps' if mean else 'last step'):
        module = onnx_networks.TextClassifier(torch.nn.GRU, mean=mean)
        module.embedding = torch.nn.Embedding(2 + len(words), 5)
        weights = self.folder / 'first.safetensors'
        safetensors.torch.save_file(module.state_dict(), weights)
        job = self.write_job(f'''
          name: "texts"
          model {{
            name: "layers" initial_weights: "{weights}"
            layers {{
              layer {{ name: "embedding" embedding {{ features: 5 }} }}
              layer {{ name: "rnn" gru {{ hidden: 6 }} }}
              layer {{ {'global_pooling' if mean else 'last_step'} {{}} }}
              layer {{ name: "out" linear {{}} }}
            }}
          }}
          data {{
            name: "labelled_text" directory: "{self.folder}"
            labelled_text {{ steps: {steps} }}
          }}
          training {{ batch_size: {num_texts} epochs: 20 }}
          optimizer {{ name: "momentum" learning_rate: 0.2 }}
          compressor {{ name: "none" }}
          cluster {{ num_workers: 1 num_servers: 1 }}
        ''')
        run_directory = self.folder / f'run-{mean}'
        gradsieve('train', job, f'--run-dir={run_directory}')
        tuned = safetensors.torch.load_file(
            run_directory / 'weights.safetensors')
        first = {name: value.clone()
                 for name, value in module.state_dict().items()}
        optimizer = torch.optim.SGD(module.parameters(), lr=0.2, momentum=0.9)
        for _ in range(20):
          optimizer.zero_grad()
          torch.nn.functional.cross_entropy(module(tokens), labels).backward()
          optimizer.step()
        for name, value in module.state_dict().items():
          np.testing.assert_allclose(tuned[name], value, rtol=0, atol=TOLERANCE,
                                     err_msg=name)
          self.assertGreater((value - first[name]).abs().max(), 0.01)

  def test_topk_sends_what_torch_topk_selects(self):
    gradients = torch.randn(3, 10000)
    np.save(self.folder / 'gradients.npy', gradients.numpy())
    gradsieve('compress', '--compressor=name: "topk" ratio: 0.01',
              f'--gradient={self.folder}/gradients.npy',
              f'--output={self.folder}/sent')
    sent = {name: np.load(self.folder / f'sent/{name}.npy')
            for name in ['indices', 'values', 'offsets', 'residual']}
    residual = torch.zeros(10000)
    for i, gradient in enumerate(gradients):
      residual += gradient
      indices = residual.abs().topk(100).indices.sort().values
      part = slice(*sent['offsets'][i:i + 2])
      np.testing.assert_array_equal(sent['indices'][part], indices)
      np.testing.assert_array_equal(sent['values'][part], residual[indices])
      residual[indices] = 0
    np.testing.assert_array_equal(sent['residual'], residual)

  def test_comparisons_run(self):
    """Steps have the same loss and gradient; topk is timed beside torch's."""
    for name in NETWORKS:
      with self.subTest(name):
        run(BENCHMARKS / 'training_step/compare_with_torch.py', '--check',
            f'--model={name}', f'--python={sys.executable}')
    run(BENCHMARKS / 'compare_compression.py', '--device=cpu', '--sizes=1e5',
        '--ratios=0.01', '--names=topk', '--rounds=1', '--turns=1',
        f'--python={sys.executable}')


if __name__ == '__main__':
  unittest.main(verbosity=2, warnings='ignore')
