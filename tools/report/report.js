// Draws the plots of a page from the JSON in its element "data":
// {heading, runs: as RunPlotData (tools/report/plot_data.h) makes them,
//  plots: of drawPlot, with titles and notes}.
'use strict';

const data = JSON.parse(element('data').textContent);

// Eight colours. Each line has other dashes than the one before, so that it
// shows what it covers.
const DASHES = [undefined, [6, 4], [2, 3], [9, 3, 2, 3]];
const look = i => ({color: '--c' + i % 8, dash: DASHES[(i + (i >> 3)) % 4]});

// More pale stripes than this would cover each other.
const MOST_STRIPES = 4;

// A line for each run that has numbers in this column of these rows.
function linesOf(runs, rows, column, x, options) {
  const lines = runs.filter(run => run[rows][column]).map(run => ({
    label: run.label, ...look(data.runs.indexOf(run)),
    x: run[rows][x] ? run[rows][x].y : [], ...run[rows][column], ...options}));
  if (lines.length > MOST_STRIPES) lines.forEach(line => delete line.low);
  return lines;
}

// Plots that follow the switch.
function results() {
  const place = () => ({...AGAINST[against], fromZero: true,
                        scale: against === 'iteration' ? undefined : 'auto'});
  const capitalised = words => words[0].toUpperCase() + words.slice(1);
  const evaluations = (words, column, unit, runs) => () => ({
    title: capitalised(words), x: place(), y: {label: words, unit},
    lines: linesOf(runs, 'evaluations', column, against, {points: true})});
  const metrics = new Set(data.runs.map(run => run.metric));
  return [
    ...[...metrics].map(metric => {
      const runs = data.runs.filter(run => run.metric === metric);
      return evaluations(metric, 'value', runs[0].is_fraction ? 'share' : 'number',
                         runs);
    }),
    evaluations('test loss', 'loss', 'number', data.runs),
    () => ({title: 'Training loss', x: place(),
            y: {label: 'loss', unit: 'number', scale: 'auto'},
            lines: linesOf(data.runs, 'iterations', 'training_loss', against)}),
  ];
}

// What is drawn by iteration.
function exchange() {
  const plot = (title, column, label, y = {}, options = {}) => ({
    title, x: {...AGAINST.iteration, fromZero: true},
    y: {label, unit: 'number', ...y},
    lines: linesOf(data.runs, 'iterations', column, 'iteration', options)});
  const bytes = {unit: 'bytes', scale: 'ends'};
  const ratio = plot('Achieved over target ratio', 'ratio', 'elements sent / target',
                     {scale: 'auto'});
  if (ratio.lines.length > 0) {
    const x = ratio.lines.flatMap(line => line.x);
    const both = value => [value, value];
    ratio.lines.push({label: 'within 20 %', color: '--good',
                      x: [Math.min(...x), Math.max(...x)], y: both(null),
                      low: both(0.8), high: both(1.2)});
  }
  return [
    plot('Throughput', 'throughput', 'samples a second, all workers',
         {scale: 'auto'}),
    plot('Bytes up', 'bytes_up', 'bytes since the start, all workers', bytes),
    plot('Bytes down', 'bytes_down', 'bytes since the start, all workers', bytes),
    ratio,
    plot('What "auto" compresses', 'compressed_share', 'share of the elements'),
    plot('Estimation stages', 'stages', 'stages', {whole: true}),
    plot('What is kept back', 'residual_norm', 'Euclidean norm of the residual',
         {scale: 'log'}, {spanGaps: true}),
  ];
}

const redraws = [];

// plotOf: what to draw now.
function figure(plotOf) {
  const {title, y, note} = plotOf();
  const made = make('figure'), caption = make('figcaption', title);
  const place = make('div'), nothing = make('p', 'Nothing is recorded.', 'note');
  caption.append(make('small', y.label));
  made.append(caption, place, nothing);
  if (note) made.append(make('p', note, 'note'));
  redraws.push(() => {
    const plot = plotOf();
    nothing.hidden = plot.lines.some(line => line.x.some(x => x !== null));
    place.hidden = !nothing.hidden;
    if (!place.hidden) drawPlot(place, plot);
  });
  return made;
}

// A heading with a switch, if there is one, and the plots that have lines.
function section(heading, plots, ...switches) {
  const shown = plots.filter(plotOf => plotOf().lines.length > 0);
  if (shown.length === 0) return;
  const bar = make('div', undefined, 'bar'), grid = make('div', undefined, 'plots');
  bar.append(make('h2', heading), ...switches);
  grid.append(...shown.map(figure));
  element('plots').append(bar, grid);
}

const showAll = () => redraws.forEach(redraw => redraw());
if (data.runs) section('Results', results(), againstSwitch(showAll));
section(data.heading, [
  ...(data.runs ? exchange() : []),
  ...data.plots.map(plot => ({...plot, lines: plot.lines.map(
      (line, i) => ({...look(i), ...line}))})),
].map(plot => () => plot));
if (data.runs && redraws.length > 0) {
  element('plots').append(make('p', 'A line with many points shows medians of' +
      ' neighbouring iterations, on a pale stripe that has the middle half of' +
      ` them; more than ${MOST_STRIPES} lines have no stripes. Drag over a plot` +
      ' to look closer, and click twice to see all of it.', 'note'));
}
keepPlots(showAll);
showAll();
