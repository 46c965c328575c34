/** Lays out graphs outside of the page's thread, which stays responsive. */
import { layOut, type Arc, type Box } from './layout.ts';

export interface Wanted {
  boxes: Box[];
  arcs: Arc[];
}

addEventListener('message', ({ data }: MessageEvent<Wanted>) => {
  try {
    postMessage({ layout: layOut(data.boxes, data.arcs) });
  } catch (error) {
    postMessage({ error: String(error) });
  }
});
