// Asks the worker for its state and shows it. The worker answers what
// LivePage::State (worker/page/live_page.h) has.
'use strict';

const EVERY_MS = 2000;
const MISSING = '–';
let against = 'iteration';
let state = null;
let plots = {};

const element = id => document.getElementById(id);
const color = name =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Of texts, never of markup: names come from the job.
function make(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function formatBytes(bytes) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let unit = 0;
  while (bytes >= 999.5 && unit + 1 < units.length) {
    bytes /= 1000;
    ++unit;
  }
  const digits = unit === 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
  return bytes.toFixed(digits) + ' ' + units[unit];
}

function formatTime(seconds) {
  if (!isFinite(seconds)) return MISSING;
  if (seconds < 59.5) return seconds.toFixed(seconds < 9.95 ? 1 : 0) + ' s';
  const two = n => String(n).padStart(2, '0');
  const s = Math.round(seconds);
  if (s < 3600) return Math.floor(s / 60) + 'm ' + two(s % 60) + 's';
  const m = Math.floor(s / 60);
  if (m < 24 * 60) return Math.floor(m / 60) + 'h ' + two(m % 60) + 'm';
  const h = Math.floor(m / 60);
  return Math.floor(h / 24) + 'd ' + two(h % 24) + 'h';
}

const formatCount = n => Math.round(n).toLocaleString('en-US');
const formatDigits = (x, digits) =>
    x === null || !isFinite(x) ? MISSING :
    x !== 0 && Math.abs(x) < 1e-3 ? x.toExponential(digits - 1) :
    String(Number(x.toPrecision(digits)));
const formatNumber = x => formatDigits(x, 4);
const formatPercent = (share, digits = 0) =>
    isFinite(share) ? (100 * share).toFixed(digits) + ' %' : MISSING;

function showHeader() {
  const job = state.job, now = state.now;
  document.title = job.name + ' – gradsieve';
  element('name').textContent = job.name;
  let what = job.model + ', ' + formatCount(job.num_parameters) +
      ' parameters, ' + job.compressor;
  if (job.value_code) what += ', ' + job.value_code;
  if (job.target_ratio !== null) what += ', ratio ' + job.target_ratio;
  element('what').textContent = what;
  const share = job.total_iterations ? now.iteration / job.total_iterations : 0;
  element('done').style.width = 100 * share + '%';
  element('progress').setAttribute('aria-valuenow', Math.floor(100 * share));
  element('iterations').textContent = Math.floor(100 * share) + ' %, iteration ' +
      formatCount(now.iteration) + ' of ' + formatCount(job.total_iterations);
  element('left').textContent = now.iteration === 0 ? 'starting' :
      share < 1 ? formatTime(now.seconds_to_go) + ' to go' : 'done';
}

function showTiles() {
  const now = state.now;
  const traffic = (bytes, dense) =>
      formatPercent(bytes / dense, 2) + ' of ' + formatBytes(dense);
  const tiles = [
    ['training loss', formatNumber(now.loss), 'epoch ' + now.epoch.toFixed(1)],
    [state.results.metric, state.results.latest || MISSING,
     state.results.value.length + (state.results.value.length === 1 ?
                                       ' evaluation' : ' evaluations')],
    ['throughput', formatCount(now.samples_per_second) + '/s',
     'samples, all workers'],
    ['bytes up', formatBytes(now.bytes_up),
     traffic(now.bytes_up, now.dense_bytes_up)],
    ['bytes down', formatBytes(now.bytes_down),
     traffic(now.bytes_down, now.dense_bytes_down)],
    ['learning rate', formatDigits(now.learning_rate, 3),
     'for ' + formatTime(now.seconds)],
  ];
  element('tiles').replaceChildren(...tiles.map(([name, value, note]) => {
    const tile = make('div', undefined, 'tile');
    tile.append(make('span', name), make('b', value), make('small', note));
    return tile;
  }));
}

// Labels of one axis: one unit, and as many decimals as its steps need. A
// logarithmic axis has nulls where it wants no label, and each label has a unit
// of its own.
function labels(values, unitOf) {
  const shown = values.filter(value => value !== null);
  if (shown.length === 0) return values;
  const apart = Math.min(...shown.slice(1).map((x, i) => Math.abs(x - shown[i])));
  const largest = Math.max(...shown.map(Math.abs));
  return values.map(value => {
    if (value === null) return '';
    if (value === 0) return '0';
    const [size, name] = unitOf(largest);
    const step = isFinite(apart) ? apart / size : 1;
    let digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
    // A step of 2.5 needs one more than its size.
    const isWhole = x => Math.abs(x - Math.round(x)) < 1e-6;
    while (digits < 6 && !isWhole(step * 10 ** digits)) ++digits;
    return (value / size).toFixed(Math.min(digits, 6)) + name;
  });
}

function byteUnit(bytes) {
  const power = Math.min(5, Math.max(0, Math.floor(Math.log10(bytes) / 3)));
  return [10 ** (3 * power), ' ' + ['B', 'kB', 'MB', 'GB', 'TB', 'PB'][power]];
}
const plainUnit = () => [1, ''];
const shareUnit = () => [0.01, ' %'];

const AXES = {
  iteration: {name: 'iteration', format: formatCount,
              labels: values => values.map(formatCount)},
  seconds: {name: 'time', format: formatTime,
            labels: values => Math.max(...values) < 600 ?
                labels(values, () => [1, ' s']) : values.map(formatTime)},
  bytes: {name: 'bytes, both ways', format: formatBytes,
          labels: values => labels(values, byteUnit)},
};

const PLOT_HEIGHT = 220;

// Whether values span so much that equal factors should be equal distances.
function wantsLogarithm(values) {
  const positive = values.filter(value => value > 0);
  return positive.length === values.length &&
      Math.max(...positive) > 20 * Math.min(...positive);
}

// series: [label, values, colour]; format: of a value, unit: of the axis.
function draw(id, series, x, format, unit, options = {}) {
  const data = [x, ...series.map(each => each[1])];
  const logarithmic = options.mayBeLogarithmic && wantsLogarithm(series[0][1]);
  // A plot cannot change its axes and colours.
  const key = [against, logarithmic, color('--ground'),
               ...series.map(each => each[0])].join();
  const place = element(id);
  if (plots[id] && plots[id].key === key) {
    plots[id].plot.setData(data);
    return;
  }
  if (plots[id]) plots[id].plot.destroy();
  const axis = AXES[against];
  const line = {stroke: color('--faint'), font: '12px system-ui, sans-serif',
                grid: {stroke: color('--grid'), width: 1},
                ticks: {stroke: color('--grid'), width: 1, size: 5}};
  const plot = new uPlot({
    width: place.clientWidth, height: PLOT_HEIGHT,
    padding: [8, 14, 0, 0],
    scales: {x: {time: false}, y: {distr: logarithmic ? 3 : 1}},
    cursor: {y: false, points: {size: 7}},
    axes: [
      {...line, size: 34, space: 64, values: (u, values) => axis.labels(values)},
      {...line, size: 68, values: (u, values) => logarithmic ?
           values.map(value => value === null ? '' : format(value)) :
           labels(values, unit)},
    ],
    series: [
      {label: axis.name,
       value: (u, value) => value === null ? MISSING : axis.format(value)},
      ...series.map(([label, , name]) => ({
        label, stroke: color(name), width: 1.6,
        points: {show: Boolean(options.points), size: 6, fill: color(name)},
        value: (u, value) => value === null ? MISSING : format(value)})),
    ],
  }, data, place);
  plots[id] = {key, plot};
}

function showPlots() {
  const history = state.history, results = state.results;
  if (!history.iteration) return;
  draw('loss', [['loss', history.loss, '--c0']], history[against], formatNumber,
       plainUnit, {mayBeLogarithmic: true});
  draw('traffic',
       [['up', history.bytes_up, '--c0'], ['down', history.bytes_down, '--c1']],
       history[against], formatBytes, byteUnit);
  if (results.value.length === 0) return;
  element('metric').textContent = 'Test ' + results.metric;
  draw('result', [[results.metric, results.value, '--c1']], results[against],
       results.is_fraction ? x => formatPercent(x, 2) : formatNumber,
       results.is_fraction ? shareUnit : plainUnit, {points: true});
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

for (const button of document.querySelectorAll('[data-against]')) {
  button.addEventListener('click', () => {
    against = button.dataset.against;
    for (const other of document.querySelectorAll('[data-against]')) {
      other.setAttribute('aria-pressed', String(other === button));
    }
    if (state !== null && state.begun) showPlots();
  });
}
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  if (state !== null && state.begun) showPlots();
});
new ResizeObserver(() => {
  for (const id in plots) {
    const width = element(id).clientWidth;
    if (width !== plots[id].plot.width) plots[id].plot.setSize({width, height: PLOT_HEIGHT});
  }
}).observe(document.body);
run();
