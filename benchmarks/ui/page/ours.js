// The page's own decoder and view; only the response comes from a file. The zoom is state instead of the URL.
import { createElement, useMemo, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { decodeAside, prepareDecoding } from '../../../webui/src/flame/decodeAside.ts';
import { findNode } from '../../../webui/src/flame/identity.ts';
import { frameScale } from '../../../webui/src/estimates/flame.ts';
import { groundOf } from '../../../webui/src/estimates/measure.ts';
import { FlameView } from '../../../webui/src/flame-panel/FlameView.tsx';
import { useColouring } from '../../../webui/src/flame-panel/useColouring.ts';
import '../../../webui/src/styles/tokens.css';
import '../../../webui/src/styles/base.css';
import '../../../webui/src/styles/results.css';
import { arrived, painted } from './measure.js';

const PLACE = { mark: '', find: '', ignore: '' };

function Page({ tree, head }) {
  const [node, setNode] = useState('');
  const colouring = useColouring(tree, 'package');
  const zoom = useMemo(() => findNode(tree, node), [tree, node]);
  const scale = useMemo(
    () => frameScale(tree, 1, head.selection.unit, 'share', groundOf(head.totals, '', null)),
    [tree],
  );
  const go = (change) => 'node' in change && setNode(change.node);
  const options = { tree, zoom, scale, colouring, union: null, upward: false, dark: false, place: PLACE, go };
  return createElement(FlameView, options);
}

prepareDecoding();
await new Promise((resolve) => setTimeout(resolve, 300)); // the page starts the worker before it asks
const buffer = await (await fetch('/tree.fpfl')).arrayBuffer();
arrived();
const { tree, head } = await decodeAside(buffer);
createRoot(document.getElementById('root')).render(createElement(Page, { tree, head }));
painted(() => document.querySelector('canvas')?.flameGraph?.firstAt > 0);
