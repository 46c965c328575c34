/** Which part of a graph is visible, and how large. */
import type { Layout } from './layout.ts';

export interface Camera {
  /** Pixels of the view per unit of the graph. */
  scale: number;
  /** Where the graph's origin is in the view. */
  x: number;
  y: number;
}

export interface Size {
  width: number;
  height: number;
}

const LEAST = 0.05;
const MOST = 4;
/** A graph that is fitted is not made smaller than this: its texts would not be legible. */
const LEGIBLE = 0.45;
const COMFORTABLE = 0.85;

/** The whole graph; a large one from its top, around the middle of its first rank. */
export function fitted({ width, height, boxes }: Layout, view: Size): Camera {
  const whole = Math.min(1.2, view.width / width, view.height / height);
  const scale = Math.max(whole, LEGIBLE);
  const top = boxes.length === 0 ? 0 : boxes.reduce((a, b) => (b.y < a.y ? b : a)).x;
  return {
    scale,
    x: width * scale <= view.width ? (view.width - width * scale) / 2 : view.width / 2 - top * scale,
    y: height * scale <= view.height ? (view.height - height * scale) / 2 : 0,
  };
}

/** The point in the middle, at a size at which names are legible. */
export function centred(layout: Layout, point: { x: number; y: number }, view: Size): Camera {
  const scale = Math.max(fitted(layout, view).scale, COMFORTABLE);
  return { scale, x: view.width / 2 - point.x * scale, y: view.height / 2 - point.y * scale };
}

/** Zooms by a factor; the graph's point under (x, y) of the view stays there. */
export function zoomed(camera: Camera, factor: number, x: number, y: number): Camera {
  const scale = Math.min(MOST, Math.max(LEAST, camera.scale * factor));
  const by = scale / camera.scale;
  return { scale, x: x - (x - camera.x) * by, y: y - (y - camera.y) * by };
}

/** Moves the least so that the point, with a margin, is visible. */
export function showing(camera: Camera, point: { x: number; y: number }, view: Size, margin = 80): Camera {
  const at = { x: camera.x + point.x * camera.scale, y: camera.y + point.y * camera.scale };
  const inside = (value: number, most: number): number =>
    Math.max(Math.min(margin, most / 2), Math.min(most - Math.min(margin, most / 2), value));
  return {
    ...camera,
    x: camera.x + inside(at.x, view.width) - at.x,
    y: camera.y + inside(at.y, view.height) - at.y,
  };
}
