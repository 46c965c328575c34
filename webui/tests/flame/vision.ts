/** Colours as readers see them: contrast, simulated colour blindness, and perceived difference. */

type Triple = readonly [number, number, number];

/** Linear RGB, 0…1. */
function linear(hex: string): Triple {
  const [r, g, b] = [1, 3, 5].map((k) => {
    const c = parseInt(hex.slice(k, k + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return [r, g, b];
}

/** WCAG 2 contrast of two `#rrggbb` colours. */
export function contrast(a: string, b: string): number {
  const luminance = (hex: string): number => {
    const [r, g, bl] = linear(hex);
    return 0.2126 * r + 0.7152 * g + 0.0722 * bl;
  };
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

/** Machado, Oliveira and Fernandes (2009), severity 1, in linear RGB. */
const VISION = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
} as const satisfies Record<string, readonly [Triple, Triple, Triple]>;

export type Vision = keyof typeof VISION;

/** CIELAB under D65 of a colour as seen with this vision. */
export function lab(hex: string, vision: Vision): Triple {
  const seen = linear(hex);
  const [r, g, b] = VISION[vision].map((row) =>
    Math.min(1, Math.max(0, row[0] * seen[0] + row[1] * seen[1] + row[2] * seen[2])),
  );
  const f = (t: number): number => (t > 216 / 24389 ? Math.cbrt(t) : ((24389 / 27) * t + 16) / 116);
  const x = f((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047);
  const y = f(0.2126729 * r + 0.7151522 * g + 0.072175 * b);
  const z = f((0.0193339 * r + 0.119192 * g + 0.9503041 * b) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

/** CIEDE2000 (Sharma, Wu and Dalal, 2005). */
export function difference([l1, a1, b1]: Triple, [l2, a2, b2]: Triple): number {
  const degree = Math.PI / 180;
  const mean = (Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2;
  const g = 0.5 * (1 - Math.sqrt(mean ** 7 / (mean ** 7 + 25 ** 7)));
  const [p1, p2] = [(1 + g) * a1, (1 + g) * a2];
  const [c1, c2] = [Math.hypot(p1, b1), Math.hypot(p2, b2)];
  const hue = (b: number, a: number): number => (Math.atan2(b, a) / degree + 360) % 360;
  const [h1, h2] = [hue(b1, p1), hue(b2, p2)];
  const grey = c1 * c2 === 0;
  let dh = grey ? 0 : h2 - h1;
  if (dh > 180) dh -= 360;
  if (dh < -180) dh += 360;
  let h = h1 + h2;
  if (!grey && Math.abs(h1 - h2) > 180) h += h < 360 ? 360 : -360;
  if (!grey) h /= 2;
  const [l, c] = [(l1 + l2) / 2, (c1 + c2) / 2];
  const cos = (times: number, less: number): number => Math.cos((times * h + less) * degree);
  const t = 1 - 0.17 * cos(1, -30) + 0.24 * cos(2, 0) + 0.32 * cos(3, 6) - 0.2 * cos(4, -63);
  const dl = (l2 - l1) / (1 + (0.015 * (l - 50) ** 2) / Math.sqrt(20 + (l - 50) ** 2));
  const dc = (c2 - c1) / (1 + 0.045 * c);
  const dH = (2 * Math.sqrt(c1 * c2) * Math.sin((dh / 2) * degree)) / (1 + 0.015 * c * t);
  const rotation = -Math.sin(60 * Math.exp(-(((h - 275) / 25) ** 2)) * degree);
  const blue = 2 * Math.sqrt(c ** 7 / (c ** 7 + 25 ** 7)) * rotation;
  return Math.sqrt(dl ** 2 + dc ** 2 + dH ** 2 + blue * dc * dH);
}
