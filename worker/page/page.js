// Asks the worker for its state and shows it. The worker answers what
// LivePage::State (worker/page/live_page.h) has.
'use strict';

const EVERY_MS = 2000;
let state = null;

function showHeader() {
  const job = state.job, now = state.now;
  document.title = job.name + ' – gradsieve';
  element('name').textContent = job.name;
  let what = job.model + ', ' + formatCount(job.num_parameters) +
      ' parameters, ' + job.compressor;
  if (job.value_code) what += ', ' + job.value_code;
  if (job.target_ratio !== null) what += ', ratio ' + job.target_ratio;
  element('what').textContent = what;
  // A script of the user's does not tell how many iterations it will make.
  const known = job.total_iterations > 0;
  const share = known ? now.iteration / job.total_iterations : 0;
  element('progress').hidden = !known;
  element('done').style.width = 100 * share + '%';
  element('progress').setAttribute('aria-valuenow', Math.floor(100 * share));
  element('iterations').textContent =
      (known ? Math.floor(100 * share) + ' %, ' : '') + 'iteration ' +
      formatCount(now.iteration) +
      (known ? ' of ' + formatCount(job.total_iterations) : '');
  element('left').textContent = now.iteration === 0 ? 'starting' :
      !known ? '' : share < 1 ? formatTime(now.seconds_to_go) + ' to go' : 'done';
}

function showTiles() {
  const now = state.now;
  const traffic = (bytes, dense) =>
      formatPercent(bytes / dense, 2) + ' of ' + formatBytes(dense);
  // Of a script of the user's, only what it exchanges is known.
  const external = state.job.model === 'external';
  const tiles = [
    ['training loss', formatNumber(now.loss),
     external ? 'mean of all workers' : 'epoch ' + now.epoch.toFixed(1)],
    !external &&
        [state.results.metric, state.results.latest || MISSING,
         state.results.value.length + (state.results.value.length === 1 ?
                                           ' evaluation' : ' evaluations')],
    external ?
        ['iteration', formatDigits(1e3 * now.seconds / now.iteration, 3) + ' ms',
         'for ' + formatTime(now.seconds)] :
        ['throughput', formatCount(now.samples_per_second) + '/s',
         'samples, all workers'],
    ['bytes up', formatBytes(now.bytes_up),
     traffic(now.bytes_up, now.dense_bytes_up)],
    ['bytes down', formatBytes(now.bytes_down),
     traffic(now.bytes_down, now.dense_bytes_down)],
    !external && ['learning rate', formatDigits(now.learning_rate, 3),
                  'for ' + formatTime(now.seconds)],
  ].filter(Boolean);
  element('tiles').replaceChildren(...tiles.map(([name, value, note]) => {
    const tile = make('div', undefined, 'tile');
    tile.append(make('span', name), make('b', value), make('small', note));
    return tile;
  }));
}

function showPlots() {
  const history = state.history, results = state.results;
  if (!history.iteration) return;
  const draw = (id, part, unit, scale, lines) => drawPlot(element(id), {
    x: AGAINST[against], y: {unit, scale},
    lines: lines.map(line => ({x: part[against], ...line}))});
  draw('loss', history, 'number', 'auto',
       [{label: 'loss', y: history.loss, color: '--c0'}]);
  draw('traffic', history, 'bytes', undefined,
       [{label: 'up', y: history.bytes_up, color: '--c0'},
        {label: 'down', y: history.bytes_down, color: '--c1'}]);
  element('result').parentElement.hidden = state.job.model === 'external';
  if (results.value.length === 0) return;
  element('metric').textContent = 'Test ' + results.metric;
  draw('result', results, results.is_fraction ? 'share' : 'number', undefined,
       [{label: results.metric, y: results.value, color: '--c1', points: true}]);
}

function showPhases() {
  const phases = state.phases;
  const parts = [['computing', phases.compute], ['compressing', phases.compress],
                 ['applying answers', phases.apply],
                 ['waiting for servers', phases.await]];
  const all = parts.reduce((sum, part) => sum + part[1], 0);
  const stack = make('div', undefined, 'stack');
  const keys = make('ul', undefined, 'keys');
  parts.forEach(([name, ms], i) => {
    const bar = make('div', undefined, 'p' + i);
    bar.style.width = (all > 0 ? 100 * ms / all : 0) + '%';
    stack.append(bar);
    const key = make('li');
    key.append(make('i', undefined, 'p' + i), name,
               make('b', formatDigits(ms, 3) + ' ms'));
    keys.append(key);
  });
  const total = make('li', phases.overlapped > 0 ? 'together, without ' +
      formatDigits(phases.overlapped, 3) + ' ms that overlap' : 'together');
  total.append(make('b', formatDigits(all - phases.overlapped, 3) + ' ms'));
  keys.append(total);
  element('phases').replaceChildren(stack, keys);
}

// rows: of [text, class] or text.
function fillTable(id, heading, rows) {
  const row = (tag, cells) => {
    const made = make('tr');
    for (const cell of cells) {
      made.append(Array.isArray(cell) ? make(tag, cell[0], cell[1]) :
                                        make(tag, cell));
    }
    return made;
  };
  element(id).replaceChildren(row('th', heading),
                              ...rows.map(cells => row('td', cells)));
}

function showMembers() {
  const workers = state.workers.map((worker, rank) => [
    'worker ' + rank,
    rank === 0 ? 'this page' : '',
    worker.missing ? ['lost', 'bad'] :
        worker.awaited ? 'computing' : ['has pushed', 'good'],
  ]);
  const servers = state.servers.map((server, index) => [
    'server ' + index, server.answers ? server.address : server.error,
    server.answers ? ['update ' + formatCount(server.version), 'good'] :
                     ['does not answer', 'bad'],
  ]);
  fillTable('members', ['process', '', 'state'], [...workers, ...servers]);
}

function showBuckets() {
  const rows = state.buckets.map((bucket, i) => [
    'bucket ' + i,
    formatDigits(bucket.threshold, 3),
    bucket.dense ? 'dense' : formatCount(bucket.count),
    formatCount(bucket.target_count),
    bucket.mean_over_target ? bucket.mean_over_target.toFixed(3) : MISSING,
    bucket.mean_over_target ? formatPercent(bucket.within_20, 1) : MISSING,
    bucket.stages ? String(bucket.stages) : MISSING,
  ]);
  fillTable('buckets', ['', 'threshold', 'sent', 'target', 'sent / target',
                        'within 20 %', 'stages'], rows);
}

function showEvents() {
  element('events').replaceChildren(...[...state.events].reverse().map(event => {
    const item = make('li');
    item.append(make('time', new Date(event.time).toLocaleTimeString('en-GB')),
                event.text);
    return item;
  }));
}

function show() {
  if (!state.begun) {
    element('what').textContent = 'waiting for the other processes of the job';
    return;
  }
  showHeader();
  showTiles();
  showPlots();
  showPhases();
  showMembers();
  showBuckets();
  showEvents();
}

async function update() {
  try {
    const response = await fetch('state');
    state = await response.json();
    element('problem').hidden = true;
    show();
  } catch (error) {
    element('problem').textContent = state === null ? String(error) :
        'Worker 0 has ended, or cannot be reached. This is its last state.';
    element('problem').hidden = false;
  }
}

async function run() {
  for (;;) {
    if (!document.hidden) await update();
    await new Promise(done => setTimeout(done, EVERY_MS));
  }
}

function showChange() {
  if (state !== null && state.begun) showPlots();
}
element('course').append(againstSwitch(showChange));
keepPlots(showChange);
run();
