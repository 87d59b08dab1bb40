// Numbers in words, and plots, for the page of a job (worker/page) and for
// reports (tools/report). uPlot draws.
'use strict';

const MISSING = '–';

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

// Labels of a linear axis: one unit, and as many decimals as its steps need.
function labels(values, unitOf) {
  const apart = Math.min(...values.slice(1).map((x, i) => Math.abs(x - values[i])));
  const largest = Math.max(...values.map(Math.abs));
  return values.map(value => {
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

function numberUnit(number) {
  if (number >= 1e-3 && number < 1e6) return [1, ''];
  const power = Math.floor(Math.log10(number));
  return [10 ** power, 'e' + power];
}

function byteUnit(bytes) {
  const power = Math.min(5, Math.max(0, Math.floor(Math.log10(bytes) / 3)));
  return [10 ** (3 * power), ' ' + ['B', 'kB', 'MB', 'GB', 'TB', 'PB'][power]];
}

// What an axis measures. format: of one value; labels: of the marks of a linear
// axis; mark: of one of a logarithmic axis, which is a power of ten or a simple
// multiple of it.
const UNITS = {
  number: {format: formatNumber, labels: values => labels(values, numberUnit),
           mark: value => formatDigits(value, 1)},
  count: {format: formatCount, labels: values => values.map(formatCount),
          mark: formatCount},
  share: {format: share => formatPercent(share, 2),
          labels: values => labels(values, () => [0.01, ' %']),
          mark: share => formatDigits(100 * share, 1) + ' %'},
  seconds: {format: formatTime,
            labels: values => Math.max(...values) < 600 ?
                labels(values, () => [1, ' s']) : values.map(formatTime),
            mark: seconds => formatDigits(seconds, 1) + ' s',
            // Minutes, hours and days have other round numbers.
            steps: [0.001, 0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300,
                    600, 1200, 1800, 3600, 7200, 14400, 28800, 86400, 172800,
                    432000, 864000, 4320000]},
  bytes: {format: formatBytes, labels: values => labels(values, byteUnit),
          mark: bytes => formatBytes(bytes).replace(/\.0+ /, ' ')},
};
const WHOLE_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

// What the course of a run is drawn against.
const AGAINST = {
  iteration: {button: 'by iteration', label: 'iteration', unit: 'count'},
  seconds: {button: 'by time', label: 'time of training', unit: 'seconds'},
  bytes: {button: 'by bytes', label: 'bytes sent, both ways, all workers',
          unit: 'bytes'},
};
let against = 'iteration';

// A switch that sets `against` and calls show().
function againstSwitch(show) {
  const group = make('span', undefined, 'switch');
  group.setAttribute('role', 'group');
  group.setAttribute('aria-label', 'against');
  for (const name in AGAINST) {
    const button = make('button', AGAINST[name].button);
    button.setAttribute('aria-pressed', String(name === against));
    button.addEventListener('click', () => {
      against = name;
      for (const other of group.children) {
        other.setAttribute('aria-pressed', String(other === button));
      }
      show();
    });
    group.append(button);
  }
  return group;
}

// How many times the smallest value the largest is where equal factors become
// equal distances.
const LOGARITHMIC_SPAN = 20;

// scale: 'log' if any value is positive; 'auto': if all are, and span much;
// 'ends': the same of each line's last value.
function isLogarithmic(scale, lines) {
  const values = (scale === 'ends' ? lines.map(values => values.slice(-1)) : lines)
      .flat().filter(value => value !== null);
  const positive = values.filter(value => value > 0);
  if (!scale || positive.length === 0) return false;
  return scale === 'log' || positive.length === values.length &&
      Math.max(...positive) > LOGARITHMIC_SPAN * Math.min(...positive);
}

// A line as a table for uPlot.join, without the points that an axis cannot show.
function tableOf(line, logX, logY) {
  const points = [...line.x.keys()].filter(
      i => line.x[i] !== null && (!logX || line.x[i] > 0));
  const pick = (values, log) =>
      points.map(i => log && !(values[i] > 0) ? null : values[i]);
  return [pick(line.x, logX), pick(line.y, logY),
          ...(line.low ? [pick(line.high, logY), pick(line.low, logY)] : [])];
}

const PLOT_HEIGHT = 220;
const drawn = new Map();  // uPlot and its key, of each place.

// Draws into an element, or draws again what changed there.
// plot.x, plot.y: {label, unit: one of UNITS, scale: of isLogarithmic, fromZero,
//   whole: whether to mark whole numbers only}.
// plot.lines: {label, color: '--c0', dash: [6, 4], x, y: values, null is a gap;
//   low, high: of a pale stripe around the line; points, spanGaps}.
function drawPlot(place, plot) {
  const logX = isLogarithmic(plot.x.scale, plot.lines.map(line => line.x));
  const logY = isLogarithmic(plot.y.scale, plot.lines.map(line => line.y));
  const data = uPlot.join(plot.lines.map(line => tableOf(line, logX, logY)));
  // A plot cannot change its axes and colours.
  const key = JSON.stringify([color('--ground'), logX, logY, plot.x, plot.y,
      plot.lines.map(line => [line.label, line.color, Boolean(line.low)])]);
  const before = drawn.get(place);
  if (before && before.key === key) {
    before.uplot.setData(data);
    return;
  }
  if (before) before.uplot.destroy();
  const powers = (u, values) =>
      values.map(value => Math.log10(value) % 1 === 0 ? value : null);
  const axis = ({label, unit, whole}, isLog) => ({
    stroke: color('--faint'), font: '12px system-ui, sans-serif',
    label, labelFont: '12px system-ui, sans-serif', labelSize: 18,
    grid: {stroke: color('--grid'), width: 1, ...(isLog ? {filter: powers} : {})},
    ticks: {stroke: color('--grid'), width: 1, size: 5},
    incrs: isLog ? undefined : whole ? WHOLE_STEPS : UNITS[unit].steps,
    // Logarithmic axes have nulls where there is no place for a label.
    values: (u, values) => isLog ?
        values.map(value => value === null ? '' : UNITS[unit].mark(value)) :
        UNITS[unit].labels(values)});
  const value = unit => (u, value) =>
      value === null ? MISSING : UNITS[unit].format(value);
  const series = [{label: plot.x.label, value: value(plot.x.unit)}];
  const bands = [];
  for (const line of plot.lines) {
    series.push({label: line.label, stroke: color(line.color), width: 1.6,
                 dash: line.dash, spanGaps: Boolean(line.spanGaps),
                 points: {size: 6, fill: color(line.color),
                          ...(line.points ? {show: true} : {})},
                 value: value(plot.y.unit)});
    if (!line.low) continue;
    bands.push({series: [series.length, series.length + 1],
                fill: color(line.color) + '30'});
    const edge = {label: '', class: 'stripe', width: 0, points: {show: false}};
    series.push(edge, edge);
  }
  const uplot = new uPlot({
    width: place.clientWidth, height: PLOT_HEIGHT, padding: [8, 24, 0, 0],
    scales: {
      x: {time: false, distr: logX ? 3 : 1,
          // Not of a part that the reader has chosen.
          ...(plot.x.fromZero && !logX ? {range: (u, low, high) =>
              [low === u.data[0][0] ? 0 : low, high]} : {})},
      y: {distr: logY ? 3 : 1},
    },
    cursor: {y: false, points: {size: 7}},
    legend: {markers: {dash: (u, i) => u.series[i].dash ? 'dashed' : 'solid'}},
    axes: [{...axis(plot.x, logX), size: 34, space: 64},
           {...axis({...plot.y, label: undefined}, logY), size: 68}],
    series, bands,
    // A stripe goes with its line.
    hooks: {setSeries: [(u, i, {show}) => {
      if (show !== undefined && bands.some(band => band.series[0] === i + 1)) {
        u.setSeries(i + 1, {show});
      }
    }]},
  }, data, place);
  drawn.set(place, {key, uplot});
}

// Calls show() when plots must be drawn with other colours, and fits them to
// the page's width.
function keepPlots(show) {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', show);
  new ResizeObserver(() => {
    for (const [place, {uplot}] of drawn) {
      const width = place.clientWidth;
      if (width !== uplot.width) uplot.setSize({width, height: PLOT_HEIGHT});
    }
  }).observe(document.body);
}
