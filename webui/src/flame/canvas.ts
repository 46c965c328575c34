/**
 * The flame graph as a component of the page: a canvas with its mouse, wheel and keys. Independent of any
 * framework.
 *
 * It owns transient state (hover, scroll, the selected frame). The zoom belongs to the page, whose URL
 * stores it: a click requests a zoom through `onZoom`, and `show({ zoom })` applies it.
 */
import type { Colouring } from './colouring.ts';
import { findNode, nodeKey } from './identity.ts';
import { paint } from './paint.ts';
import { DARK, LIGHT } from './palette.ts';
import { stepIn, stepLeft, stepMatch, stepOut, stepRight } from './steps.ts';
import type { FlameTree } from './tree.ts';
import { reaches, type Union } from './union.ts';
import {
  deepestBelow,
  deepestDrawn,
  hiddenBeyond,
  maxScroll,
  nodeAt,
  ROW_HEIGHT,
  rowTop,
  type View,
} from './view.ts';

export interface FlameEvents {
  /** -1 if the pointer is over no frame. `x`: of the pointer, `top`: of the frame's row, within the canvas. */
  onHover(node: number, x: number, top: number): void;
  /** The frame that keys act on has changed. */
  onSelect(node: number): void;
  onZoom(node: number): void;
  /** Whether the page had something to close or clear; if not, the graph shows all stacks. */
  onEscape?(): boolean;
}

export interface Shown {
  tree: FlameTree;
  zoom: number;
  colouring: Colouring;
  union: Union | null;
  upward: boolean;
  dark: boolean;
}

/** Cost of the last drawing, for benchmarks and tests. */
export interface Drawing {
  boxes: number;
  milliseconds: number;
  /** `performance.now()` at its end. */
  at: number;
}

const WHEEL_LINE = 3 * ROW_HEIGHT;

export class FlameCanvas {
  drawing: Drawing = { boxes: 0, milliseconds: 0, at: 0 };
  /** `performance.now()` when the first tree was drawn. */
  firstAt = 0;
  private readonly context: CanvasRenderingContext2D;
  private readonly sizes: ResizeObserver;
  private readonly view: View = { width: 1, height: 1, zoom: 0, scroll: 0, upward: false };
  private shown: Shown | null = null;
  private limit = 0; // the maximum scroll of the zoomed subtree
  private drawnTo = 0; // the deepest row of it with visible frames
  private selected = 0;
  private hovered = -1;
  private finger = 0; // last position of the scrolling touch
  private frame = 0;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly box: HTMLElement,
    private readonly events: FlameEvents,
  ) {
    const context = canvas.getContext('2d', { alpha: false });
    if (context === null) throw new Error('this browser has no 2D canvas');
    this.context = context;
    canvas.addEventListener('mousemove', this.onMouseMove);
    canvas.addEventListener('mouseleave', this.onMouseLeave);
    canvas.addEventListener('click', this.onClick);
    canvas.addEventListener('wheel', this.onWheel, { passive: false });
    canvas.addEventListener('touchstart', this.onTouchStart, { passive: true });
    canvas.addEventListener('touchmove', this.onTouchMove, { passive: false });
    canvas.addEventListener('keydown', this.onKeyDown);
    this.sizes = new ResizeObserver(() => this.fit());
    this.sizes.observe(box);
  }

  destroy(): void {
    cancelAnimationFrame(this.frame);
    this.sizes.disconnect();
    this.canvas.removeEventListener('mousemove', this.onMouseMove);
    this.canvas.removeEventListener('mouseleave', this.onMouseLeave);
    this.canvas.removeEventListener('click', this.onClick);
    this.canvas.removeEventListener('wheel', this.onWheel);
    this.canvas.removeEventListener('touchstart', this.onTouchStart);
    this.canvas.removeEventListener('touchmove', this.onTouchMove);
    this.canvas.removeEventListener('keydown', this.onKeyDown);
  }

  /** Replace the content. The selection stays on the same stack if that is still visible. */
  show(next: Shown): void {
    const before = this.shown;
    this.shown = next;
    this.view.upward = next.upward;
    if (before?.tree !== next.tree || before.zoom !== next.zoom) {
      // A refresh renumbers nodes: the same stack at another position is not a new zoom.
      const moved = before !== null && nodeKey(before.tree, before.zoom) !== nodeKey(next.tree, next.zoom);
      const kept = before === null ? -1 : findNode(next.tree, nodeKey(before.tree, this.selected));
      this.view.zoom = next.zoom;
      this.hovered = -1;
      if (before !== null) this.measureDepth(); // the first time, `fit` does
      // A third of the height is left for the callers of the zoomed frame.
      if (moved) this.scrollTo(next.tree.depth[next.zoom] * ROW_HEIGHT - this.view.height / 3);
      this.selected = kept >= next.zoom && kept < next.tree.end[next.zoom] ? kept : next.zoom;
      this.events.onSelect(this.selected);
    }
    if (before === null) this.fit();
    else this.schedule();
  }

  /** Select a frame and scroll it into view; used by keys and by n / N. */
  select(node: number): void {
    const { tree } = this.shown!;
    this.selected = node;
    const top = tree.depth[node] * ROW_HEIGHT;
    // One more row, because the hint at the edge covers one.
    const first = top - ROW_HEIGHT;
    const last = top + 2 * ROW_HEIGHT;
    if (first < this.view.scroll) this.scrollTo(first);
    else if (last > this.view.scroll + this.view.height) this.scrollTo(last - this.view.height);
    this.events.onSelect(node);
    this.schedule();
  }

  /** Select the next or previous highlighted frame; leaves the zoom if the frame lies outside. */
  selectMatch(direction: 1 | -1): void {
    const { tree, union, zoom } = this.shown!;
    const node = union === null ? -1 : stepMatch(union.nodes, this.selected, direction);
    if (node < 0) return;
    if (node < zoom || node >= tree.end[zoom]) this.events.onZoom(0);
    this.select(node);
  }

  /** Take the size of the box and draw. An observer reports the first size too, which is drawn already. */
  private fit(): void {
    const { width, height } = this.box.getBoundingClientRect();
    const ratio = devicePixelRatio || 1;
    const pixels = {
      width: Math.round(Math.max(1, width) * ratio),
      height: Math.round(Math.max(ROW_HEIGHT, height) * ratio),
    };
    const fits = this.canvas.width === pixels.width && this.canvas.height === pixels.height;
    if (fits && this.drawing.at > 0) return;
    this.view.width = Math.max(1, width);
    this.view.height = Math.max(ROW_HEIGHT, height);
    Object.assign(this.canvas, pixels);
    this.canvas.style.width = `${this.view.width}px`;
    this.canvas.style.height = `${this.view.height}px`;
    if (this.shown === null) return;
    this.measureDepth();
    this.draw(); // at once: setting the size has cleared the canvas
  }

  private measureDepth(): void {
    const { tree, zoom } = this.shown!;
    this.limit = maxScroll(this.view, deepestBelow(tree, zoom));
    this.drawnTo = deepestDrawn(tree, this.view);
    this.scrollTo(this.view.scroll);
  }

  private scrollTo(y: number): void {
    this.view.scroll = Math.max(0, Math.min(Math.round(y), this.limit));
  }

  private schedule(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    if (this.shown === null) return;
    const began = performance.now();
    const { tree, zoom, colouring, dark } = this.shown;
    // If no match is visible, dimming all frames would only hide the colours.
    const outside = this.shown.union !== null && zoom > 0 && !reaches(this.shown.union, tree, zoom);
    const union = outside ? null : this.shown.union;
    const { view, selected, hovered } = this;
    const scene = { tree, view, palette: dark ? DARK : LIGHT, colouring, union, selected, hovered };
    const boxes = paint(this.context, scene, this.canvas.width / view.width);
    const { top, bottom } = hiddenBeyond(view, this.drawnTo);
    this.hint('data-more-above', '▲', top);
    this.hint('data-more-below', '▼', bottom);
    const at = performance.now();
    this.drawing = { boxes, milliseconds: at - began, at };
    if (this.firstAt === 0) this.firstAt = at;
  }

  /** A text at an edge of the canvas (flame.css), if rows are hidden beyond it. */
  private hint(attribute: string, arrow: string, rows: number): void {
    if (rows === 0) this.box.removeAttribute(attribute);
    else this.box.setAttribute(attribute, `${arrow} ${rows} more ${rows === 1 ? 'row' : 'rows'}`);
  }

  private at(event: MouseEvent): number {
    return this.shown === null ? -1 : nodeAt(this.shown.tree, this.view, event.offsetX, event.offsetY);
  }

  private readonly onMouseMove = (event: MouseEvent): void => {
    const node = this.at(event);
    this.canvas.style.cursor = node >= 0 ? 'pointer' : 'default';
    if (node !== this.hovered) {
      this.hovered = node;
      this.schedule();
    }
    this.events.onHover(node, event.offsetX, node < 0 ? 0 : rowTop(this.view, this.shown!.tree.depth[node]));
  };

  private readonly onMouseLeave = (): void => {
    this.hovered = -1;
    this.events.onHover(-1, 0, 0);
    this.schedule();
  };

  private readonly onClick = (event: MouseEvent): void => {
    const node = this.at(event);
    if (node < 0) return;
    this.selected = node;
    this.events.onSelect(node);
    this.events.onZoom(node);
    this.schedule();
  };

  private readonly onWheel = (event: WheelEvent): void => {
    if (event.ctrlKey || event.shiftKey) return; // the browser's own zoom and sideways scroll
    const step =
      event.deltaMode === WheelEvent.DOM_DELTA_LINE ? (event.deltaY * WHEEL_LINE) / 3 : event.deltaY;
    this.scrollBy(step, event);
  };

  private readonly onTouchStart = (event: TouchEvent): void => {
    this.finger = event.touches[0].clientY;
  };

  private readonly onTouchMove = (event: TouchEvent): void => {
    if (event.touches.length > 1 || !event.cancelable) return; // the browser zooms, or scrolls the page already
    const { clientY } = event.touches[0];
    const step = this.finger - clientY;
    if (Math.abs(step) < 1) return; // accumulate slow movements to whole pixels
    this.finger = clientY;
    this.scrollBy(step, event);
  };

  /** Scroll down by `step` pixels instead of the page. */
  private scrollBy(step: number, event: Event): void {
    const before = this.view.scroll;
    this.scrollTo(before + (this.view.upward ? -step : step));
    if (this.view.scroll === before) return; // at the edge the page scrolls instead
    event.preventDefault();
    this.hovered = -1;
    this.events.onHover(-1, 0, 0);
    this.schedule();
  }

  private readonly onKeyDown = (event: KeyboardEvent): void => {
    if (this.shown === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const { tree, zoom, upward } = this.shown;
    const at = this.selected;
    switch (event.key) {
      case upward ? 'ArrowUp' : 'ArrowDown':
        this.select(stepIn(tree, at));
        break;
      case upward ? 'ArrowDown' : 'ArrowUp':
        this.select(stepOut(tree, at));
        break;
      case 'ArrowRight':
        this.select(stepRight(tree, at));
        break;
      case 'ArrowLeft':
        this.select(stepLeft(tree, at));
        break;
      case 'Enter':
        this.events.onZoom(at);
        break;
      case 'Backspace':
        if (tree.parent[zoom] < 0) break;
        this.select(tree.parent[zoom]);
        this.events.onZoom(tree.parent[zoom]);
        break;
      case 'Escape':
        if (this.events.onEscape?.() === true) break;
        this.select(0);
        this.events.onZoom(0);
        break;
      case 'Home':
        this.select(0);
        this.events.onZoom(0);
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
}
