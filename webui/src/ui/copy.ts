/** true once the text is on the clipboard. Browsers permit it only to local and HTTPS pages. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
