export function SharedCodePage() {
  return null;
}
