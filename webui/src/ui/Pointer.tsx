/** A text with a mark under the character of the syntax error; `at` counts characters. */
export function Pointer({ text, at }: { text: string; at: number }) {
  return (
    <pre className="pointer">
      {text}
      {'\n'}
      {' '.repeat(Math.min(at, Array.from(text).length))}↑
    </pre>
  );
}
