"""Means of gradients over all ranks, for the buckets of DistributedDataParallel."""

import math
import time
from typing import Any, Dict, List, Tuple

import torch

from gradsieve import _session
from gradsieve._blocks import views_of
from gradsieve._errors import ConfigError

_DTYPES = (torch.float32, torch.float16, torch.bfloat16)


class GradientMeans:
    """Takes the buckets of each backward pass, and replaces gradients by means.

    Everything is kept by parameter, because DDP deals the parameters out to other
    buckets after the first pass.

    Attributes:
      seconds: in ``take``.
      copy_seconds: of these, between DDP's buckets and the bridge.
    """

    def __init__(self, session: _session.Session, scaler: Any,
                 saved: bytes) -> None:
        """Args:
          session: with the bridge.
          scaler: the GradScaler by whose scale gradients are multiplied; or None.
          saved: the bridge's state with which to begin; empty: none.
        """
        self.seconds = 0.0
        self.copy_seconds = 0.0
        self._session = session
        self._scaler = scaler
        self._saved = saved
        self._scale = 1.0  # Of this pass.
        # By identity; they stay alive in _parameters.
        self._numbers = {}  # type: Dict[int, int]
        self._parameters = []  # type: List[torch.Tensor]
        # Of the backward pass that is under way.
        self._pass = []  # type: List[_Bucket]

    def take(self, bucket) -> 'torch.futures.Future[torch.Tensor]':
        """Takes the next bucket of a pass. The last one waits for all ranks.

        Args:
          bucket: a ``torch.distributed.GradBucket``.

        Returns:
          A future of the bucket's tensor, with means in it.
        """
        start = time.perf_counter()
        with self._session.use():
            if bucket.index() == 0 and self._pass:
                raise ConfigError(
                    'a backward pass ended before its last bucket, and other ranks '
                    'wait for the rest', 'FAILED_PRECONDITION')
            taken = _Bucket(bucket)
            self._pass.append(taken)
            waits = not self._parameters or self._scaler is not None
            if not waits:
                self._send(taken)
            if bucket.is_last():
                if not self._parameters:
                    self._open()
                if self._scaler is not None and not self._all_are_finite():
                    self._give_up_pass()
                else:
                    for each in self._pass if waits else []:
                        self._send(each)
                    self._receive()
        self.seconds += time.perf_counter() - start
        return taken.future

    def _open(self) -> None:
        """Joins the job, with the parameters in the order of the model: DDP's first
        buckets have the last ones first."""
        for bucket in reversed(self._pass):
            self._parameters += [p for p, _ in bucket.gradients]
        for number, parameter in enumerate(self._parameters):
            self._numbers[id(parameter)] = number
        # DDP does not tell their names.
        buckets = self._session.open(
            [('parameter %d' % number, list(p.shape) or [1])
             for number, p in enumerate(self._parameters)])
        if self._saved:
            self._session.load(self._saved)
        self._bucket_of = buckets
        self._sizes = [buckets.count(b) for b in range(max(buckets) + 1)]
        self._in, self._out = views_of(self._session.block, self._parameters)

    def _all_are_finite(self) -> bool:
        """Whether no rank's gradients have overflowed. Nothing is sent before it is
        known, so that residuals are as if the pass had not been."""
        finite = all(bool(bucket.tensor.isfinite().all()) for bucket in self._pass)
        self._scale = self._scaler.get_scale()
        return self._session.average([float(not finite)]) == [0.0]

    def _give_up_pass(self) -> None:
        """Has every rank's GradScaler skip the step."""
        for bucket in self._pass:
            bucket.tensor.fill_(math.nan)
            bucket.future.set_result(bucket.tensor)
        self._pass = []

    def _send(self, bucket: '_Bucket') -> None:
        """Gives the bridge a bucket's gradients. The bridge's own buckets go as soon
        as they are complete."""
        if bucket is self._pass[0]:
            self._missing = list(self._sizes)
            self._next = 0
            self._session.begin()
        start = time.perf_counter()
        for parameter, gradient in bucket.gradients:
            number = self._numbers.get(id(parameter))
            if number is None:
                raise ConfigError(
                    'a parameter of shape %s was not in the first backward pass' %
                    list(parameter.shape), 'FAILED_PRECONDITION')
            self._in[number].copy_(gradient)
            if self._scale != 1.0:
                # What is left for later has the gradients' own unit.
                self._in[number].div_(self._scale)
            self._missing[self._bucket_of[number]] -= 1
        self.copy_seconds += time.perf_counter() - start
        while self._next < len(self._missing) and self._missing[self._next] <= 0:
            self._session.tell(_session.READY, self._next)
            self._next += 1

    def _receive(self) -> None:
        """Waits for the means of all buckets of the pass."""
        if self._next < len(self._missing):
            raise ConfigError(
                'this backward pass has fewer gradients than the first one',
                'FAILED_PRECONDITION')
        self._session.ask(_session.WAIT)
        start = time.perf_counter()
        for bucket in self._pass:
            for parameter, gradient in bucket.gradients:
                mean = self._out[self._numbers[id(parameter)]]
                gradient.copy_(mean if self._scale == 1.0 else mean * self._scale)
            bucket.future.set_result(bucket.tensor)
        self.copy_seconds += time.perf_counter() - start
        self._pass = []


class _Bucket:
    """What a GradBucket has, which lives only as long as the call of the hook.

    Attributes:
      tensor: all its gradients.
      gradients: parameters, and views of their parts of the tensor.
      future: of the tensor, with means.
    """

    def __init__(self, bucket) -> None:
        self.tensor = bucket.buffer()
        if self.tensor.layout != torch.strided:
            raise ConfigError(
                'a gradient of shape %s is sparse; it must be dense: make the '
                'Embedding with sparse=False' % list(self.tensor.shape),
                'INVALID_ARGUMENT')
        if self.tensor.dtype not in _DTYPES:
            raise ConfigError(
                'a bucket has gradients of %s; they must be float32, float16 or '
                'bfloat16' % str(self.tensor.dtype).replace('torch.', ''),
                'INVALID_ARGUMENT')
        self.gradients = [
            (parameter, gradient) for parameter, gradient in zip(
                bucket.parameters(), bucket.gradients()) if parameter.numel() > 0
        ]  # type: List[Tuple[torch.Tensor, torch.Tensor]]
        device = self.tensor.device
        self.future = torch.futures.Future(
            devices=None if device.type == 'cpu' else [device]
        )  # type: torch.futures.Future[torch.Tensor]
