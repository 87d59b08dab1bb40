#!/usr/bin/env python3
"""Times PyTorch's training step, to compare it with training_step_bench, or
checks the gradient that training_step_bench has computed.

Every step uses the same model, random batch and update (SGD with momentum 0.9).
Models of images are timed with both memory formats, with --compile also after
torch.compile. On a GPU a step's time ends when the device is idle, and the next
batch goes up beside the step, as in training_step_bench. Needs
PyTorch (of PyPI, or Debian's python3-torch, with /usr/bin/python3).

    benchmarks/training_step/torch_training_step.py \
        [--model resnet20] [--batch 128] [--threads 1] [--steps 10] \
        [--device cuda:0] [--precision fp32|tf32|bf16] [--compile] [--json]
    benchmarks/training_step/torch_training_step.py --model resnet20 \
        --check FILE_OF_TRAINING_STEP_BENCH
"""

import argparse
import json
import math
import statistics
import struct
import sys
import time

# The names of PyTorch's operations by kind of layer; the first match counts.
KINDS = [
    ("convolution", ("conv",)),
    ("dropout", ("dropout", "bernoulli")),
    ("embedding", ("embedding",)),
    ("cells", ("sigmoid", "tanh", "chunk")),
    ("batch_norm", ("batch_norm",)),
    ("activation", ("relu", "threshold")),
    ("pooling", ("pool",)),
    ("products", ("addmm", "aten::mm")),
    ("loss", ("log_softmax", "nll_loss")),
    ("reorder", ("reorder", "contiguous", "to_dense", "to_mkldnn", "copy_")),
    ("residual", ("add", "pad", "slice", "fill_", "zero")),
]

# Relative to PyTorch's in double, with --check.
LOSS_TOLERANCE = 1e-5
GRADIENT_TOLERANCE = 1e-3
# How far products in float may move the weights, relatively, and how many such
# moves are tried.
ROUNDING = 1e-6
ROUNDED_STEPS = 8


def kind_of(name):
    for kind, parts in KINDS:
        if any(part in name for part in parts):
            return kind
    return "other"


class Precision:
    """Sets PyTorch's precision to what training.precision names."""

    def __init__(self, torch, name, device):
        tf32 = name == "tf32"
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.backends.cudnn.allow_tf32 = tf32
        # Use the fastest algorithm, as training_step_bench --fastest does.
        torch.backends.cudnn.benchmark = True
        self.autocast = lambda: torch.autocast(
            device_type=torch.device(device).type, dtype=torch.bfloat16,
            enabled=name == "bf16")


class Upload:
    """Brings a batch from pinned memory to x, on a stream of its own."""

    def __init__(self, torch, x):
        self.torch, self.x = torch, x
        self.pinned = x.cpu().pin_memory()
        self.staged = torch.empty_like(x)
        self.stream = torch.cuda.Stream(x.device)
        self.received = torch.cuda.Event()

    def send(self):
        self.stream.wait_event(self.received)
        with self.torch.cuda.stream(self.stream):
            self.staged.copy_(self.pinned, non_blocking=True)

    def receive(self):
        current = self.torch.cuda.current_stream(self.x.device)
        current.wait_stream(self.stream)
        self.x.copy_(self.staged)
        self.received.record(current)


def measure(options, torch, memory_format, compiled):
    import torch_models

    torch.manual_seed(1)
    device = torch.device(options.device)
    is_cuda = device.type == "cuda"
    precision = Precision(torch, options.precision, options.device)
    model = torch_models.new_model(options.model, options.hidden).to(
        device, memory_format=memory_format)
    x, labels = torch_models.random_batch(options.model, options.batch)
    x, labels = x.to(device), labels.to(device)
    if x.dim() == 4:
        x = x.to(memory_format=memory_format)
    rate = torch_models.learning_rate(options.model)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    forward = torch.compile(model) if compiled else model

    upload = Upload(torch, x) if is_cuda else None
    if upload:
        upload.send()

    def step():
        if upload:
            upload.receive()
        optimizer.zero_grad(set_to_none=True)
        with precision.autocast():
            loss = torch_models.mean_loss(forward(x), labels)
        loss.backward()
        if upload:
            upload.send()
        optimizer.step()
        loss = loss.item()
        if is_cuda:
            torch.cuda.synchronize(device)
        return loss

    losses, times = [step() for _ in range(3)], []
    for _ in range(options.steps):
        start = time.perf_counter()
        losses.append(step())
        times.append(1e3 * (time.perf_counter() - start))
    if not losses[-1] < losses[0]:
        sys.exit(f"the loss did not fall: {losses}")
    activities = [torch.profiler.ProfilerActivity.CPU]
    if is_cuda:
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities) as profile:
        step()
    kinds = {}
    for event in profile.key_averages():
        name = event.key
        kind = "update" if "Optimizer" in name else kind_of(name)
        kinds[kind] = kinds.get(kind, 0) + self_milliseconds(event, is_cuda)
    return {
        "step_ms": statistics.median(times),
        "all_step_ms": times,
        "first_loss": losses[0],
        "last_loss": losses[-1],
        "kinds": kinds,
    }


def self_milliseconds(event, is_cuda):
    """Time on the device where the step runs; the field has had two names."""
    if not is_cuda:
        return event.self_cpu_time_total / 1e3
    for name in ("self_device_time_total", "self_cuda_time_total"):
        if hasattr(event, name):
            return getattr(event, name) / 1e3
    return 0


def read_step(torch, path):
    """Tensors by name, of a safetensors file that has nothing but float32."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = bytearray(file.read())
    header.pop("__metadata__", None)
    return {name: torch.frombuffer(
                data, dtype=torch.float32, count=math.prod(entry["shape"]),
                offset=entry["data_offsets"][0]).reshape(entry["shape"])
            for name, entry in header.items()}


def check(options, torch):
    """Compares loss and gradient with the same step in double."""
    import torch_models

    ours = read_step(torch, options.check)
    loss, inputs, labels = (ours.pop(n) for n in ("loss", "inputs", "labels"))
    gradients = {name: ours.pop("gradient of " + name)
                 for name in list(ours) if not name.startswith("gradient of ")}
    example, _ = torch_models.random_batch(options.model, 1)
    if example.dim() == 2:
        x = inputs.reshape(len(example), -1).long()
    else:
        x = inputs.reshape(-1, *example.shape[1:])

    def step(kind, rounding=0.0):
        model = torch_models.new_model(options.model, options.hidden)
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
            elif isinstance(module, torch.nn.LSTM):
                module.dropout = 0.0
        model.load_state_dict({**ours, **dict(model.named_buffers())})
        model.to(kind)
        with torch.no_grad():
            for weights in model.parameters():
                weights *= 1 + rounding * torch.randn_like(weights)
        outputs = model(x if x.dim() == 2 else x.to(kind))
        mean = torch_models.mean_loss(outputs, labels.long())
        mean.backward()
        return mean.item(), {n: p.grad for n, p in model.named_parameters()}

    torch.manual_seed(0)
    expected, double = step(torch.float64)
    rounded = [step(torch.float32)[1]] + [
        step(torch.float64, ROUNDING)[1] for _ in range(ROUNDED_STEPS)]
    # A bias before a batch normalisation has no gradient but rounding errors.
    least = 1e-3 * math.sqrt(sum(g.square().sum() for g in double.values()))
    worst = 0.0
    for name, exact in double.items():
        size = exact.norm().item() + least
        error = (gradients[name] - exact).norm().item() / size
        # A ReLU whose input is nearly 0 is on in one and off in the other, and
        # one such unit of a late layer changes all gradients before it.
        rounding = max((gradient[name] - exact).norm().item() / size
                       for gradient in rounded)
        worst = max(worst, error)
        if not error <= GRADIENT_TOLERANCE + 2 * rounding:
            sys.exit(f"the gradient of {name} differs by {error:.3g} of its "
                     f"norm; rounding alone moves PyTorch's by {rounding:.3g}")
    error = abs(loss.item() / expected - 1)
    if not error <= LOSS_TOLERANCE:
        sys.exit(f"the loss is {loss.item()}; PyTorch's is {expected}")
    print(json.dumps({"loss_error": error, "gradient_error": worst}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="resnet20")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="fp32",
                        choices=["fp32", "tf32", "bf16"])
    parser.add_argument("--hidden", type=int, default=0, help="width of lstm_lm")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", help="a file of training_step_bench --dump")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("needs PyTorch, as ./test --interop installs it")
    import torch_models

    if options.model not in torch_models.MODELS:
        sys.exit(f"unknown model {options.model!r}; known are "
                 + ", ".join(torch_models.MODELS))
    torch.set_num_threads(options.threads)
    if options.check:
        check(options, torch)
        return
    formats = {"contiguous": (torch.contiguous_format, False)}
    if options.model in torch_models.IMAGE_MODELS:
        formats["channels_last"] = (torch.channels_last, False)
    if options.compile:
        # Compile for the format that is usually faster.
        name, (memory_format, _) = list(formats.items())[-1]
        formats[f"{name}, compiled"] = (memory_format, True)
    result = {
        "torch": torch.__version__,
        "model": options.model,
        "batch": options.batch,
        "threads": options.threads,
        "device": options.device,
        "precision": options.precision,
        "formats": {name: measure(options, torch, *variant)
                    for name, variant in formats.items()},
    }
    if options.json:
        print(json.dumps(result))
        return
    for name, run in result["formats"].items():
        print(f"PyTorch {torch.__version__}, {options.model}, batch "
              f"{options.batch}, {options.threads} thread(s), {name}: "
              f"{run['step_ms']:.1f} ms a step (median), loss "
              f"{run['first_loss']:.4f} -> {run['last_loss']:.4f}")
        for kind, ms in sorted(run["kinds"].items(), key=lambda x: -x[1]):
            print(f"  {kind:16}{ms:10.2f} ms")


if __name__ == "__main__":
    main()
