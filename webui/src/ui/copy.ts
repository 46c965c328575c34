/** true once the text is on the clipboard. Browsers refuse it to pages that are neither local nor HTTPS. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
