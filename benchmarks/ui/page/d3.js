// As in its README, without animation and without frames narrower than a pixel, which would take it minutes.
import { select } from 'd3-selection';
import flamegraph from 'd3-flame-graph';
import { arrived, painted } from './measure.js';

const text = await (await fetch('/tree.json')).text();
arrived();
const chart = flamegraph().width(1400).cellHeight(18).transitionDuration(0).minFrameSize(1).inverted(true);
select('#chart').datum(JSON.parse(text)).call(chart);
painted(() => document.querySelector('#chart svg g') !== null);
