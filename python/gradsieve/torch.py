"""Train a PyTorch model on several ranks over a slow network.

Each rank runs the same script, with its own copy of the model and its own part
of the data, and steps its own optimizer. After every step the ranks exchange how
far they have moved: the servers take the mean, of which a compressor may leave
most elements to later steps (*delta mode*)::

    import gradsieve.torch as gs

    gs.init()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    optimizer = gs.DistributedOptimizer(optimizer, model)
    for inputs, labels in loader:            # each rank reads its own part
        optimizer.zero_grad()
        loss_of(model(inputs), labels).backward()
        optimizer.step()                     # steps, and exchanges
    with gs.server_weights(model):           # the same on all ranks
        if gs.is_leader():
            torch.save(model.state_dict(), 'model.pt')
    gs.finish()

A script of DistributedDataParallel exchanges its gradients by ``hook``.
``gradsieve train JOB -- python3 script.py`` starts the servers, and the script
once for each rank. docs/pytorch.md has the whole story.

Every function raises ``Error`` or one of its subclasses; the messages are those
of the programs.
"""

import atexit
import contextlib
import ctypes
import hashlib
import operator
import os
import sys
import tempfile
import time
import types
from typing import (Any, Dict, Iterator, List, Mapping, Optional, Sequence,
                    TypeVar, Union)

import torch
import torch.distributed as dist

from gradsieve import _servers, _session, _start
from gradsieve._blocks import views_of
from gradsieve._ddp import GradientMeans
from gradsieve._errors import (ConfigError, Error, Forked, Interrupted, JobFailed,
                               NotFinite, ServerLost, StartupTimeout)

__all__ = [
    'ConfigError', 'DistributedOptimizer', 'Error', 'Forked', 'HookState',
    'Interrupted', 'JobFailed', 'NotFinite', 'ServerLost', 'StartupTimeout',
    'average', 'average_buffers', 'check_weights', 'count_samples', 'exchange',
    'finish', 'hook', 'init', 'is_leader', 'join', 'load_state_dict', 'rank', 'record_evaluation',
    'record_loss', 'server_weights', 'size', 'state_dict', 'stats',
]

_Optimizer = TypeVar('_Optimizer', bound=torch.optim.Optimizer)


class _State:
    """What this process has begun."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.session = None  # type: Optional[_session.Session]
        self.servers = _servers.Servers()
        self.num_sessions = 0
        # By load_state_dict, for what comes later.
        self.saved = None  # type: Optional[Mapping[str, torch.Tensor]]
        self.loss = None  # type: Optional[float]  # By record_loss before a session.
        self.own_job = ''  # A file, if no job was given.
        self.exchange = None  # type: Union[None, _Exchange, GradientMeans]
        self.hooked = False
        # The error of a hook, which DDP wraps before torch 2.
        self.hook_error = None  # type: Optional[Error]
        self.reason = ''  # Of an exception that ends the process.
        self.exit_code = 0  # For such an exception, if it is one of ours.


_state = _State()


def init(job: Optional[str] = None, *, rank: Optional[int] = None,
         size: Optional[int] = None, timeout: float = 1800.0,
         fields: Optional[Mapping[str, Any]] = None) -> None:
    """Reads the job and finds out which rank this is. Call it once, in the
    process that trains.

    Args:
      job: the file of the job, with ``model { name: "external" }``; by default
        that of ``gradsieve train`` (the variable GRADSIEVE_JOB), or else a job
        that sends one element in a hundred. If it does not say where its servers
        are, the ranks start them, and find each other by ``torchrun`` or
        ``torch.distributed``.
      rank: which rank this is, from 0; by default the variable GRADSIEVE_RANK,
        RANK, OMPI_COMM_WORLD_RANK, SLURM_PROCID or JOB_COMPLETION_INDEX, or
        that of ``torch.distributed``.
      size: the number of ranks; by default WORLD_SIZE, OMPI_COMM_WORLD_SIZE, or
        that of ``torch.distributed``. It must be the job's cluster.num_workers.
      timeout: how long one exchange may take, in seconds.
      fields: fields of the job to set, as ``--set`` does, by name. Servers must
        have the same.

    Raises:
      ConfigError: the job, the rank or the size is wrong; a program is missing.

    Example::

        gs.init('job.textproto', fields={'compressor.ratio': 0.001})
    """
    _begin(_start.DELTA_JOB, job, rank, size, timeout, fields)


def _begin(default_job: str, job: Optional[str], rank: Optional[int],
           size: Optional[int], timeout: float,
           fields: Optional[Mapping[str, Any]]) -> None:
    _check_process()
    if _state.session is not None and _state.session.is_open:
        raise ConfigError('gradsieve.init is called twice', 'FAILED_PRECONDITION')
    _state.pid = os.getpid()
    _hook_the_end()
    overrides = os.environ.get('GRADSIEVE_SET', '').splitlines()
    overrides += ['%s=%s' % (name, _text(value))
                  for name, value in (fields or {}).items()]
    found_rank = _start.find_rank(rank)
    found_size = _start.find_size(size)
    if _is_distributed():
        found_rank = dist.get_rank() if found_rank is None else found_rank
        found_size = dist.get_world_size() if found_size is None else found_size
    _state.num_sessions += 1
    job = job or os.environ.get('GRADSIEVE_JOB')
    if job is None:
        overrides.insert(0, 'cluster.num_workers=%d' % (found_size or 1))
        with tempfile.NamedTemporaryFile('w', suffix='.textproto',
                                         delete=False) as file:
            file.write(default_job)
        job = _state.own_job = file.name
    _state.exchange = None
    _connect(job, found_rank, found_size, overrides, timeout)
    loss, _state.loss = _state.loss, None
    if loss is not None:
        _session_here().record_loss(loss)


def rank() -> int:
    """This process's rank, from 0.

    Example::

        sampler = DistributedSampler(data, num_replicas=gs.size(), rank=gs.rank())
    """
    return _session_here().rank


def size() -> int:
    """The number of ranks, ``cluster.num_workers`` of the job."""
    return _session_here().num_workers


def is_leader() -> bool:
    """Whether this is rank 0, which should print and save for all.

    Example::

        if gs.is_leader():
            print('epoch', epoch)
    """
    return rank() == 0


def DistributedOptimizer(optimizer: _Optimizer, model: torch.nn.Module, *,
                         exchange_on_step: bool = True,
                         stagger: bool = False) -> _Optimizer:
    """Joins the job: gives every rank the weights of rank 0, and has each
    ``optimizer.step()`` exchange what the step has changed; with
    ``consistency.local_steps`` of the job, every that many steps what all of them
    have changed.

    Schedulers, ``GradScaler`` and everything else that has the optimizer keep
    working. Gradients are not looked at: accumulate them, or clip them, as in a
    script for one process. Load a checkpoint of the model first: what is changed
    later counts as a part of the next step. In a SYNCHRONOUS job all ranks must call
    ``step`` equally often. They must have the same frozen parameters. Buffers, such
    as the statistics of batch normalisation, stay each rank's own; see
    ``average_buffers``.

    Args:
      optimizer: any optimizer of the model's parameters.
      model: the model. Its parameters with ``requires_grad`` are exchanged:
        float32, of any shape, on any device. Each is known by its name and
        shape, which must be the same on all ranks.
      exchange_on_step: False: ``step`` exchanges nothing, and the script calls
        ``exchange``. A ``GradScaler`` needs that: it leaves out the step of one
        rank alone, for which the others would wait.
      stagger: with ``consistency.local_steps`` H and P buckets
        (``training.bucket_megabytes``), bucket p is exchanged after step
        (p + 1) H / P of each H, rounded down, and not all after the last one, as in
        Streaming DiLoCo: the network is used evenly. The same on all ranks.

    Returns:
      ``optimizer`` itself.

    Raises:
      ConfigError: a parameter or the model is of a kind that cannot be
        exchanged, or another rank has another model; the message names what.
      StartupTimeout: a server, or rank 0, did not come in time.

    Example::

        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        optimizer = gs.DistributedOptimizer(optimizer, model)
    """
    session = _session_here()
    if _state.exchange is not None:
        raise ConfigError('DistributedOptimizer is called twice; a process has '
                          'one optimizer in a job', 'FAILED_PRECONDITION')
    if session.exchanges:
        raise ConfigError(
            'the job has downlink.mode MEAN, which is for gradsieve.torch.hook; '
            'DistributedOptimizer needs worker_optimizer { name: "external" } '
            'instead', 'FAILED_PRECONDITION')
    _state.exchange = _Exchange(session, optimizer, model, exchange_on_step, stagger)
    saved, _state.saved = _state.saved, None
    if saved is not None:
        _state.exchange.load(saved)
    return optimizer


def exchange() -> None:
    """Exchanges what the optimizer's steps have changed, as ``optimizer.step()`` does
    by default. All ranks must call it equally often.

    Example::

        gs.DistributedOptimizer(optimizer, model, exchange_on_step=False)
        ...
        scaler.step(optimizer)               # may leave the step out
        scaler.update()
        gs.exchange()
    """
    _session_here()
    if not isinstance(_state.exchange, _Exchange) or _state.exchange.on_step:
        raise ConfigError('exchange needs DistributedOptimizer with '
                          'exchange_on_step=False first', 'FAILED_PRECONDITION')
    _state.exchange.stepped()


@contextlib.contextmanager
def join() -> Iterator[None]:
    """Within this context ranks may take different numbers of steps: one that leaves
    it takes part in the exchanges of the others, in each of which it has not moved,
    until all have left. The mean is over all ranks nevertheless. With ``hook`` it is
    ``join`` of DistributedDataParallel that does this; a job that is not SYNCHRONOUS
    does not need it.

    A rank may leave by an exception, which ends the job. Call ``average``,
    ``average_buffers`` and ``check_weights`` outside.

    Example::

        with gs.join():
            for inputs, labels in loader:    # of another length on each rank
                ...
                optimizer.step()
    """
    session = _session_here()
    exchange = _state.exchange
    if not isinstance(exchange, _Exchange):
        raise ConfigError('join needs DistributedOptimizer first; with the hook, use '
                          'join of DistributedDataParallel', 'FAILED_PRECONDITION')
    exchange.begin_joining()
    yield
    if exchange.joins:
        exchange.follow_others()
    exchange.joins = False


@contextlib.contextmanager
def server_weights(model: torch.nn.Module) -> Iterator[torch.nn.Module]:
    """Within this context the model has the servers' weights, which are the same
    on all ranks: for evaluation and for saving. Afterwards it has its own again,
    which may be ahead of them by what this rank has not sent yet. With ``hook`` the
    model's own weights are the same, and stay.

    Args:
      model: that of ``DistributedOptimizer``.

    Example::

        with gs.server_weights(model):
            accuracy = evaluate(model)
    """
    _session_here()
    exchange = _state.exchange
    if isinstance(exchange, GradientMeans):
        yield model
        return
    if exchange is None:
        raise ConfigError('server_weights needs DistributedOptimizer first',
                          'FAILED_PRECONDITION')
    exchange.check_model(model)
    exchange.swap_in_servers_weights()
    try:
        yield model
    finally:
        exchange.restore()


def average(values: Mapping[str, Any]) -> Dict[str, float]:
    """The mean of each number over all ranks, which must all call this after the
    same step, with the same names in the same order.

    Args:
      values: numbers, or tensors of one element; they travel as float32.

    Returns:
      The means, by name.

    Example::

        means = gs.average({'loss': loss, 'accuracy': correct / total})
    """
    numbers = [_number(value) for value in values.values()]
    session = _session_here()
    with session.use():
        means = session.average(numbers)
    return dict(zip(values, means))


def record_loss(loss: Any) -> None:
    """Tells the loss of the step that is exchanged next: before ``step``, and with
    the hook before ``backward``. Its mean over all ranks, for
    which nothing is sent besides, goes into the records of the run: the progress of
    ``gradsieve train``, its page, metrics and reports.

    Args:
      loss: a number, or a tensor of one element.

    Example::

        gs.record_loss(loss)
        loss.backward()
        optimizer.step()
    """
    # The hook has a session from its first pass on.
    _check_process()
    if _state.session is None or not _state.session.is_open:
        _state.loss = _number(loss)
    else:
        _state.session.record_loss(_number(loss))


def count_samples(samples: int) -> None:
    """Tells how many samples the next step is from: before each ``step``, on all
    ranks. An exchange takes the mean of the ranks' ways, each weighed by the samples
    that its rank has counted since the exchange before, as federated averaging does
    where ranks have unequal parts of the data. Without it all ranks weigh the same.

    Needs ``DistributedOptimizer`` in a SYNCHRONOUS job with ``consistency.mean``
    WORKERS, and cannot be used within ``join``.

    Args:
      samples: a whole number from 1 to 2^40.

    Example::

        for inputs, labels in loader:        # of another length on each rank
            ...
            gs.count_samples(len(labels))
            optimizer.step()
    """
    _session_here()
    if not isinstance(_state.exchange, _Exchange):
        raise ConfigError('count_samples needs DistributedOptimizer first',
                          'FAILED_PRECONDITION')
    _state.exchange.count_samples(samples)


def record_evaluation(**metrics: Any) -> None:
    """Records an evaluation after the latest step: on the page, in the metrics, the
    reports and the progress. What rank 0 says counts; others may say it, too.

    Args:
      metrics: numbers, or tensors of one element, by name: the most important one
        first. ``accuracy`` and what ends with ``_accuracy`` or ``_rate`` are
        fractions.

    Example::

        with gs.server_weights(model):
            gs.record_evaluation(accuracy=correct / total, loss=loss)
    """
    if not metrics:
        raise ConfigError('record_evaluation needs at least one metric',
                          'INVALID_ARGUMENT')
    session = _session_here()
    with session.use():
        session.tell(_session.METRICS, text='\n'.join(
            '%s %r' % (name, _number(value)) for name, value in metrics.items()))


def average_buffers(model: torch.nn.Module, names: Sequence[str] = (
        'running_mean', 'running_var')) -> None:
    """Gives all ranks the means of the model's buffers, which each rank has from its
    own batches: before an evaluation, and before saving. All ranks must call this
    after the same step.

    Args:
      model: the model.
      names: the last parts of the names of the buffers that are meant; by default
        the statistics of batch normalisation. They must be floating-point.

    Example::

        gs.average_buffers(model)
        with gs.server_weights(model):
            accuracy = evaluate(model)
    """
    buffers = [buffer for name, buffer in model.named_buffers()
               if name.rpartition('.')[2] in names]
    session = _session_here()
    with session.use(), torch.no_grad():
        numbers = [number for buffer in buffers
                   for number in buffer.flatten().tolist()]
        means = session.average(numbers)
        begin = 0
        for buffer in buffers:
            end = begin + buffer.numel()
            buffer.copy_(torch.tensor(means[begin:end]).view(buffer.shape))
            begin = end


def check_weights(model: torch.nn.Module) -> None:
    """Makes sure that all ranks have the same parameters, bit for bit, which nothing
    else would notice if a script moved them by other means than its optimizer. All
    ranks must call this after the same step; in delta mode within
    ``server_weights``. It reads all parameters: call it now and then.

    Raises:
      JobFailed: they differ; the message names the ranks.

    Example::

        if step % 1000 == 0:
            gs.check_weights(model)
    """
    session = _session_here()
    hashed = hashlib.blake2b(digest_size=6)
    for parameter in model.parameters():
        hashed.update(_bytes_of(parameter))
    number = int.from_bytes(hashed.digest(), 'little')
    # Every rank fills its own place. Twelve bits at a time keep their value in a
    # float's sum, and its mean is within half of a unit.
    places = 4
    values = [0.0] * (places * session.num_workers)
    for place in range(places):
        values[places * session.rank + place] = float(number >> 12 * place & 0xfff)
    with session.use():
        means = session.average(values)
    digests = [[round(mean * session.num_workers) for mean in
                means[places * r:places * (r + 1)]] for r in range(session.num_workers)]
    others = [r for r, digest in enumerate(digests) if digest != digests[0]]
    if others:
        raise JobFailed('the parameters of rank %s differ from those of rank 0' %
                        ', '.join(map(str, others)), 'DATA_LOSS')


def state_dict() -> Dict[str, torch.Tensor]:
    """What this rank must keep beside its model and its optimizer: the elements that
    it has not sent yet, and its compressors' state; with ``consistency.local_steps``
    also its own weights, which are then not those of the servers. Each rank saves its
    own, after the same step.

    Example::

        torch.save({'optimizer': optimizer.state_dict(), 'gradsieve': gs.state_dict()},
                   'rank%d.pt' % gs.rank())
    """
    session = _session_here()
    if _state.exchange is None:
        raise ConfigError('state_dict needs DistributedOptimizer or the hook first',
                          'FAILED_PRECONDITION')
    with session.use():
        state = session.save()
    saved = {'state': torch.frombuffer(bytearray(state), dtype=torch.uint8)}
    if isinstance(_state.exchange, _Exchange):
        saved.update(_state.exchange.own_state())
    return saved


def load_state_dict(state: Mapping[str, torch.Tensor]) -> None:
    """Takes back what ``state_dict`` has returned to the same rank, before its first
    step: after ``DistributedOptimizer``, whose model has been loaded with what was
    saved within ``server_weights``; or before the first backward pass with ``hook``.
    A run that goes on so has the bits of one that was not interrupted, unless the
    compressor draws random numbers or the servers' ``optimizer`` has a state.

    Example::

        saved = torch.load('rank%d.pt' % gs.rank())
        optimizer.load_state_dict(saved['optimizer'])
        gs.load_state_dict(saved['gradsieve'])
    """
    if isinstance(_state.exchange, _Exchange):
        _state.exchange.load(state)
    elif _state.exchange is not None:
        raise ConfigError('load_state_dict is called after the first backward pass '
                          'with the hook, which it must precede',
                          'FAILED_PRECONDITION')
    else:
        _state.saved = dict(state)


def stats() -> Dict[str, float]:
    """What has been exchanged so far.

    Returns:
      ``steps``, the number of exchanges, of all buckets; ``bytes_up``, of all ranks' pushes;
      ``bytes_down``, of the answers to this rank; seconds of this rank:
      ``exchange_seconds`` in all, and of these ``copy_seconds`` between the model
      and the bridge, and ``compress_seconds``, ``await_seconds`` and
      ``apply_seconds`` in the bridge; ``residual_norm``, the Euclidean norm of what
      this rank has not sent yet.

    Example::

        print(gs.stats()['bytes_up'] / gs.stats()['steps'], 'bytes a step')
    """
    session = _session_here()
    exchange = _state.exchange
    if exchange is None:
        raise ConfigError('stats needs DistributedOptimizer or the hook first',
                          'FAILED_PRECONDITION')
    with session.use():
        result = session.stats()
    result['exchange_seconds'] = exchange.seconds
    result['copy_seconds'] = exchange.copy_seconds
    return result


def finish() -> None:
    """Ends the job together with all other ranks, for which it waits. A process
    that ends without it has given up: the others fail, and say so. If the job is not
    SYNCHRONOUS, the model has the servers' last weights afterwards, which are the
    same on all ranks if they took equally many steps: save it then.

    Example::

        gs.finish()
    """
    _session_here().finish()
    if isinstance(_state.exchange, _Exchange):
        _state.exchange.finished()
    _close_servers()


class HookState:
    """What ``hook`` needs to know, which ``register_comm_hook`` hands on. It joins
    the job in the first backward pass, and can be pickled before.

    Args:
      job: as for ``init``; by default, where nothing names a job, one whose
        gradients and means are coded in 8 bits.
      scaler: the script's ``GradScaler``, if it has one. If a gradient of any rank
        overflows, all ranks get NaN, and skip the step together; nothing is sent
        before the whole backward pass is known to be finite.
      timeout, fields: as for ``init``. The rank and the size are those of
        ``torch.distributed``.

    If the script calls ``init`` itself, leave out all but ``scaler``.

    Example::

        scaler = torch.amp.GradScaler()
        model.register_comm_hook(gs.HookState(scaler=scaler), gs.hook)
    """

    def __init__(self, job: Optional[str] = None, *, scaler: Any = None,
                 timeout: float = 1800.0,
                 fields: Optional[Mapping[str, Any]] = None) -> None:
        self._job = job
        self._scaler = scaler
        self._timeout = timeout
        self._fields = fields
        self._means = None  # type: Optional[GradientMeans]

    def __getstate__(self) -> Dict[str, Any]:
        return dict(self.__dict__, _means=None)

    def _connected(self) -> GradientMeans:
        if self._means is not None:
            return self._means
        if _state.session is None or not _state.session.is_open:
            _begin(_start.EXCHANGE_JOB, self._job, dist.get_rank(),
                   dist.get_world_size(), self._timeout, self._fields)
        session = _session_here()
        if not session.exchanges:
            raise ConfigError(
                'gradsieve.torch.hook needs a job with downlink { mode: MEAN } in '
                'place of worker_optimizer', 'FAILED_PRECONDITION')
        if _state.exchange is not None:
            raise ConfigError('a process has one DistributedDataParallel with '
                              'gradsieve.torch.hook, and one HookState',
                              'FAILED_PRECONDITION')
        saved, _state.saved = _state.saved, None
        self._means = _state.exchange = GradientMeans(
            session, self._scaler, b'' if saved is None else _bytes_of(saved['state']))
        return self._means


# DDP looks at the annotations; torch may have been built without its GradBucket.
def hook(state: HookState,
         bucket) -> torch.futures.Future[torch.Tensor]:  # type: ignore
    """Exchanges gradients in place of the all-reduce of DistributedDataParallel
    (*exchange mode*): every rank gets the mean, coded as the job says. Without
    compression two ranks have the bits of DDP.

    The job needs ``downlink { mode: MEAN }``. DDP gives all ranks the same weights,
    and keeps working with unused parameters, ``no_sync`` and clipping. Call
    ``finish`` at the end.

    Args:
      state: a ``HookState``.
      bucket: what DDP hands over.

    Example::

        model = torch.nn.parallel.DistributedDataParallel(model)
        model.register_comm_hook(gs.HookState(), gs.hook)
    """
    try:
        return state._connected().take(bucket)
    except Error as error:
        _state.hook_error = error
        raise


class _Exchange:
    """The model's parameters, and how they get to the bridge and back."""

    def __init__(self, session: _session.Session,
                 optimizer: torch.optim.Optimizer, model: torch.nn.Module,
                 on_step: bool, stagger: bool) -> None:
        self.on_step = on_step
        self.joins = False  # Other ranks may have taken their last step.
        self.seconds = 0.0
        self.copy_seconds = 0.0
        # The parameters' own values within server_weights.
        self._own = None  # type: Optional[List[torch.Tensor]]
        self._local_steps = 0  # Since the last bucket was exchanged.
        self._samples = 0  # Counted in all.
        self._pushed = []  # type: List[int]  # The buckets of an unanswered push.
        self._delay = 0  # Steps to go before its answer is used.
        self._session = session
        self._optimizer = optimizer
        _check_kinds(optimizer, model)
        named = list(model.named_parameters())
        self._frozen = [(name, p) for name, p in named if not p.requires_grad]
        self._trained = [(name, p) for name, p in named if p.requires_grad]
        for name, parameter in self._trained:
            _check_parameter(name, parameter)
        self._names = {id(p): name for name, p in named}
        self._check_groups()
        self._trained = [(name, p) for name, p in self._trained if p.numel() > 0]
        if not self._trained:
            raise ConfigError('the model has no parameter with requires_grad',
                              'INVALID_ARGUMENT')
        with session.use():
            for name, parameter in self._frozen:
                session.tell(_session.SAME, text=_fingerprint(name, parameter))
            buckets = session.open(
                [(name, list(p.shape) or [1]) for name, p in self._trained], stagger)
            self._in, self._out = views_of(session.block,
                                           [p for _, p in self._trained])
            # By bucket, in which order READY goes.
            self._buckets = [[] for _ in range(max(buckets) + 1)]  # type: List[List[int]]
            for i, bucket in enumerate(buckets):
                self._buckets[bucket].append(i)
            everything = list(range(len(self._buckets)))
            # What is pushed together, which turn it is, and what of _samples each
            # has pushed.
            self._turns = [[b] for b in everything] if stagger else [everything]
            self._turn = 0
            self._sent_samples = [0 for _ in self._turns]
            self._check_turns()
            if session.rank == 0:
                for bucket in self._buckets:
                    self._copy_in(bucket)
                session.ask(_session.FIRST)
            session.ask(_session.PULL)
            self._copy_out(self._out)
        session.settle = self._take_answer
        if on_step:
            self._wrap_step()

    def check_model(self, model: torch.nn.Module) -> None:
        theirs = {id(p) for p in model.parameters()}
        if not all(id(p) in theirs for _, p in self._trained):
            raise ConfigError('server_weights needs the model of '
                              'DistributedOptimizer', 'INVALID_ARGUMENT')

    def stepped(self) -> None:
        """Exchanges how far the parameters have moved, if it is time to."""
        start = time.perf_counter()
        session = self._session
        with session.use():
            self._check_unchanged()
            self._local_steps += 1
            self._delay -= 1
            if self._delay == 0:
                self._take_answer()
            if self._local_steps < self._due():
                return
            if self.joins:
                session.average([1.0])
            self._exchange()
        self.seconds += time.perf_counter() - start

    def _due(self) -> int:
        """The step, of ``local_steps``, after which it is this turn."""
        return (self._turn + 1) * self._session.local_steps // len(self._turns)

    def _check_turns(self) -> None:
        steps, turns = self._session.local_steps, len(self._turns)
        if turns == 1:
            return
        if steps < turns:
            raise ConfigError(
                'the model has %d buckets that take turns (stagger), and '
                'consistency.local_steps is %d; must be at least as many: raise it, '
                'or training.bucket_megabytes' % (turns, steps), 'INVALID_ARGUMENT')
        if self._session.answer_delay > steps // turns:
            raise ConfigError(
                'consistency.answer_delay is %d; must be at most %d with %d buckets '
                'that take turns (stagger) in %d local steps: the next turn needs the '
                'answer' % (self._session.answer_delay, steps // turns, turns, steps),
                'INVALID_ARGUMENT')

    def count_samples(self, samples: int) -> None:
        try:
            number = operator.index(samples)
        except TypeError:
            number = 0
        if not 1 <= number <= _MAX_SAMPLES:
            raise ConfigError('count_samples gets %r; must be a whole number from 1 '
                              'to %d' % (samples, _MAX_SAMPLES), 'INVALID_ARGUMENT')
        self._samples += number
        self._check_samples()

    def begin_joining(self) -> None:
        self.joins = self._session.synchronous
        self._check_samples()

    def _check_samples(self) -> None:
        if self.joins and self._samples:
            raise ConfigError('count_samples cannot be used within join, where a '
                              'rank that follows others has no samples',
                              'FAILED_PRECONDITION')

    def follow_others(self) -> None:
        """Exchanges with the ranks that still step, until none does."""
        with self._session.use():
            while self._session.average([0.0]) != [0.0]:
                self._exchange()

    def _exchange(self) -> None:
        samples = self._samples - self._sent_samples[self._turn]
        if self._samples and not samples:
            raise ConfigError('count_samples was called before an earlier exchange, '
                              'and not before this one', 'FAILED_PRECONDITION')
        self._session.begin(samples)
        self._sent_samples[self._turn] = self._samples
        self._pushed = self._turns[self._turn]
        for bucket in self._pushed:
            self._copy_in(self._buckets[bucket])
            self._session.tell(_session.READY, bucket)
        # A rank that follows others has taken fewer steps.
        self._local_steps = self._due() % self._session.local_steps
        self._turn = (self._turn + 1) % len(self._turns)
        self._delay = self._session.answer_delay
        if self._delay == 0:
            self._take_answer()

    @torch.no_grad()
    def _take_answer(self) -> None:
        """Waits for the answer to a push, if there is one that is not answered."""
        if not self._pushed:
            return
        self._session.ask(_session.WAIT)
        pushed, self._pushed = self._pushed, []
        numbers = [i for bucket in pushed for i in self._buckets[bucket]]
        if self._session.answer_delay == 0:
            self._copy_out(self._out, numbers)
            return
        for i in numbers:
            parameter = self._trained[i][1]
            parameter.lerp_(self._out[i].to(parameter), self._session.answer_weight)

    @torch.no_grad()
    def own_state(self) -> Dict[str, torch.Tensor]:
        """What the bridge does not know, between two exchanges."""
        if self._session.local_steps == 1:
            return {}
        own = self._own or [p for _, p in self._trained]
        return {'weights': torch.cat([value.detach().cpu().flatten() for value in own]),
                'local_steps': torch.tensor([self._local_steps, self._turn]),
                'samples': torch.tensor(
                    [self._samples - sent for sent in self._sent_samples])}

    @torch.no_grad()
    def load(self, saved: Mapping[str, torch.Tensor]) -> None:
        with self._session.use():
            self._session.load(_bytes_of(saved['state']))
            self._copy_out(self._out)
        if 'weights' not in saved:
            return
        sizes = [p.numel() for _, p in self._trained]
        if saved['weights'].numel() != sum(sizes):
            raise ConfigError('the state has %d weights; the model has %d' %
                              (saved['weights'].numel(), sum(sizes)),
                              'INVALID_ARGUMENT')
        self._copy_out([part.view(p.shape) for part, (_, p) in zip(
            saved['weights'].split(sizes), self._trained)])
        self._local_steps, self._turn = saved['local_steps'].tolist()
        samples = saved['samples'].tolist()
        self._samples = max(samples)
        self._sent_samples = [self._samples - since for since in samples]

    def finished(self) -> None:
        """The session has ended."""
        if not self._session.synchronous:
            self._copy_out(self._in)

    def swap_in_servers_weights(self) -> None:
        if self._own is not None:
            raise ConfigError('server_weights is called within server_weights',
                              'FAILED_PRECONDITION')
        with self._session.use(), torch.no_grad():
            self._session.ask(_session.SERVERS)
            own = [p.detach().clone() for _, p in self._trained]
            self._copy_out(self._in)
        self._own = own

    def restore(self) -> None:
        """Ends what swap_in_servers_weights has begun."""
        self._copy_out(self._own)
        self._own = None

    @torch.no_grad()
    def _copy_in(self, bucket: List[int]) -> None:
        start = time.perf_counter()
        for i in bucket:
            self._in[i].copy_(self._trained[i][1])
        self.copy_seconds += time.perf_counter() - start

    @torch.no_grad()
    def _copy_out(self, values: List[torch.Tensor],
                  numbers: Optional[Sequence[int]] = None) -> None:
        """Of all parameters, or of those with these numbers."""
        start = time.perf_counter()
        for i in range(len(values)) if numbers is None else numbers:
            self._trained[i][1].copy_(values[i])
        self.copy_seconds += time.perf_counter() - start

    def _wrap_step(self) -> None:
        optimizer = self._optimizer
        if hasattr(optimizer, 'register_step_post_hook'):
            optimizer.register_step_post_hook(lambda *_: self.stepped())
            return
        # Before torch 2.0. A scheduler that is made later calls __func__ of the
        # method; one that was made before recognizes its own mark.
        inner = optimizer.step

        def step(self_: torch.optim.Optimizer, *args: Any, **kwargs: Any) -> Any:
            result = inner(*args, **kwargs)
            self.stepped()
            return result

        if hasattr(inner, '_with_counter'):
            step._with_counter = True  # type: ignore[attr-defined]
        optimizer.step = types.MethodType(step, optimizer)  # type: ignore

    def _check_groups(self) -> None:
        self._num_optimized = 0
        for group in self._optimizer.param_groups:
            for parameter in group['params']:
                self._num_optimized += 1
                if id(parameter) not in self._names:
                    raise ConfigError(
                        'the optimizer has a parameter of shape %s that the model '
                        'does not have' % list(parameter.shape),
                        'INVALID_ARGUMENT')

    def _check_unchanged(self) -> None:
        if self._own is not None:
            raise ConfigError('step() is called within server_weights',
                              'FAILED_PRECONDITION')
        groups = self._optimizer.param_groups
        if sum(len(group['params']) for group in groups) != self._num_optimized:
            last = groups[-1]['params'][-1]
            raise ConfigError(
                'the optimizer has other parameters than when '
                'DistributedOptimizer was called, %s of shape %s among them' %
                (self._names.get(id(last), 'a new one'), list(last.shape)),
                'FAILED_PRECONDITION')
        for name, parameter in self._frozen:
            if parameter.requires_grad:
                raise ConfigError(
                    'the parameter %s was frozen when DistributedOptimizer was '
                    'called, and now has requires_grad: it is not exchanged' %
                    name, 'FAILED_PRECONDITION')


# Of one exchange; transport/push_samples.h.
_MAX_SAMPLES = 1 << 40

# Classes whose objects share out parameters in their own way, by module and
# name, and what to do instead.
_OTHER_WAYS = {
    'DistributedDataParallel': 'give it the plain model (model.module)',
    'DataParallel': 'give it the plain model (model.module)',
    'FullyShardedDataParallel': 'it shards the parameters, which must be whole '
                                'on every rank',
    'FSDPModule': 'it shards the parameters, which must be whole on every rank',
    'DeepSpeedEngine': 'it has its own exchange',
    'ZeroRedundancyOptimizer': "it shards the optimizer's state: use the plain "
                               'optimizer',
    'DeepSpeedZeroOptimizer': "it shards the optimizer's state: use the plain "
                              'optimizer',
    'AcceleratedOptimizer': 'give it the optimizer before accelerator.prepare',
}


def _check_kinds(optimizer: torch.optim.Optimizer,
                 model: torch.nn.Module) -> None:
    if not isinstance(model, torch.nn.Module):
        raise ConfigError('the model is of type %s; must be a torch.nn.Module' %
                          type(model).__name__, 'INVALID_ARGUMENT')
    for what in [optimizer, *model.modules()]:
        for kind in type(what).__mro__:
            if kind.__name__ in _OTHER_WAYS:
                raise ConfigError('%s cannot be used with DistributedOptimizer: '
                                  '%s' % (kind.__name__,
                                          _OTHER_WAYS[kind.__name__]),
                                  'INVALID_ARGUMENT')
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise ConfigError('the optimizer is of type %s; must be a '
                          'torch.optim.Optimizer' % type(optimizer).__name__,
                          'INVALID_ARGUMENT')


def _fingerprint(name: str, parameter: torch.Tensor) -> str:
    """A frozen parameter, which all ranks must have, with a digest of its values."""
    return '%s %s %s %s' % (
        name, list(parameter.shape), str(parameter.dtype).replace('torch.', ''),
        hashlib.blake2b(_bytes_of(parameter), digest_size=8).hexdigest())


def _bytes_of(parameter: torch.Tensor) -> bytes:
    values = parameter.detach().cpu().contiguous()
    return ctypes.string_at(values.data_ptr(),
                            values.numel() * values.element_size())


def _check_parameter(name: str, parameter: torch.Tensor) -> None:
    problem = ''
    if type(parameter).__name__ in ('UninitializedParameter',):
        problem = 'has no values yet; run one batch first'
    elif any(kind.__name__ == 'DTensor'
             for kind in (*type(parameter).__mro__,
                          *type(parameter.data).__mro__)):
        problem = 'is a DTensor; it must be whole on every rank'
    elif parameter.layout != torch.strided:
        problem = 'is sparse; it must be dense'
    elif parameter.is_complex():
        problem = 'is complex; it must be float32'
    elif parameter.dtype in (torch.float16, torch.bfloat16):
        problem = ('is %s; keep float32 parameters and use autocast' %
                   str(parameter.dtype).replace('torch.', ''))
    elif parameter.dtype != torch.float32:
        problem = 'is %s; it must be float32' % str(parameter.dtype).replace(
            'torch.', '')
    elif parameter.device.type == 'meta':
        problem = 'is on the device "meta", and has no values'
    if problem:
        raise ConfigError('the parameter %s %s' % (name, problem),
                          'INVALID_ARGUMENT')


def _connect(job: str, rank: Optional[int], size: Optional[int],
             overrides: List[str], timeout: float) -> None:
    program = _start.find_program('bridge')
    session = _session.Session(program, job, rank or 0, overrides, timeout)
    try:
        ranks = session.num_workers
        if size is not None and size != ranks:
            raise ConfigError(
                'there are %d ranks (size, or %s), and the job has '
                'cluster.num_workers %d' %
                (size, ' or '.join(_start.SIZE_VARIABLES), ranks),
                'INVALID_ARGUMENT')
        if rank is None and ranks > 1:
            raise ConfigError(
                'the job has %d ranks, and nothing says which this is: give '
                'gradsieve.init a rank, or set %s' %
                (ranks, ', '.join(_start.RANK_VARIABLES)), 'INVALID_ARGUMENT')
        if rank is not None and not 0 <= rank < ranks:
            raise ConfigError(
                'the rank is %d; the job has ranks 0 to %d '
                '(cluster.num_workers)' % (rank, ranks - 1), 'INVALID_ARGUMENT')
        if session.num_addresses > 0:
            _state.session = session
            return
        store = _store() if ranks > 1 else None
        if ranks > 1 and store is None:
            raise ConfigError(
                'nothing says where the servers of the job are: start the script '
                'by torchrun or by gradsieve train JOB -- python3 SCRIPT, call '
                'torch.distributed.init_process_group before, or set '
                'cluster.servers in the job', 'INVALID_ARGUMENT')
        # Nothing but the job was read.
        session.finish()
        _state.servers.start(job, overrides, session.num_servers, rank or 0, ranks,
                             store, session.startup_timeout)
    except Error as error:
        session.abort(str(error))
        raise
    _state.session = _session.Session(
        program, job, rank or 0, overrides + _state.servers.overrides(), timeout)


def _is_distributed() -> bool:
    return dist.is_available() and dist.is_initialized()


def _store() -> Any:
    """By which the ranks can hear of each other before they know the servers: that
    of ``torch.distributed``, or of ``torchrun``. None if there is neither."""
    if _is_distributed():
        store = dist.distributed_c10d._get_default_store()
    elif (dist.is_available() and
          os.environ.get('TORCHELASTIC_USE_AGENT_STORE') == 'True'):
        store = dist.TCPStore(os.environ['MASTER_ADDR'],
                              int(os.environ['MASTER_PORT']), is_master=False)
    else:
        return None
    # torchrun keeps its store when it starts the ranks again.
    return dist.PrefixStore('gradsieve/%s/%d' % (
        os.environ.get('TORCHELASTIC_RESTART_COUNT', '0'), _state.num_sessions),
                            store)


def _number(value: Any) -> float:
    # float() of a tensor that needs a gradient warns.
    return float(value.item() if isinstance(value, torch.Tensor) else value)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_process() -> None:
    if _state.session is not None and _state.pid != os.getpid():
        raise Forked('the session belongs to process %d, and this is process %d: '
                     'only the process that called gradsieve.init may use it' %
                     (_state.pid, os.getpid()), 'FAILED_PRECONDITION')


def _session_here() -> _session.Session:
    if _state.session is None:
        raise ConfigError('call gradsieve.init first', 'FAILED_PRECONDITION')
    _check_process()
    return _state.session


def _close_servers() -> None:
    _state.servers.close()
    if _state.own_job:
        os.unlink(_state.own_job)
        _state.own_job = ''


def _hook_the_end() -> None:
    """Has the other ranks told when this process ends without ``finish``."""
    if _state.hooked:
        return
    _state.hooked = True
    previous = sys.excepthook

    def excepthook(kind: Any, value: BaseException, traceback: Any) -> None:
        _state.reason = '%s: %s' % (kind.__name__, value) if str(
            value) else kind.__name__
        error = value if isinstance(value, Error) else _state.hook_error
        if error is not None:
            _state.exit_code = error.exit_code
        previous(kind, value, traceback)

    sys.excepthook = excepthook
    # Runs after the handlers of modules that were imported later.
    atexit.register(_at_exit)


def _at_exit() -> None:
    if _state.pid != os.getpid():
        return
    session = _state.session
    if session is not None and session.is_open:
        reason = _state.reason or 'the script ended without gradsieve.finish()'
        session.abort(reason)
        if not _state.reason:
            print('gradsieve: rank %d: %s' % (session.rank, reason),
                  file=sys.stderr)
    _close_servers()
    # The launcher acts on the code.
    if _state.exit_code and 'GRADSIEVE_JOB' in os.environ:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_state.exit_code)
