// The pages of this benchmark, from the web UI's own sources. MODULES: the web UI's packages; D3: the installed d3-flame-graph.
import { resolve } from 'node:path';

const here = import.meta.dirname;
const { MODULES, D3 } = process.env;
const of = (name) => resolve(MODULES, name);

export default {
  root: here,
  base: './',
  resolve: {
    alias: {
      react: of('react'),
      'react-dom': of('react-dom'),
      ...(D3 ? { 'd3-flame-graph': resolve(D3, 'd3-flame-graph'), 'd3-selection': resolve(D3, 'd3-selection') } : {}),
    },
  },
  build: {
    target: 'es2022',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: { input: ['ours.html', ...(D3 ? ['d3.html'] : [])].map((name) => resolve(here, name)) },
  },
};
