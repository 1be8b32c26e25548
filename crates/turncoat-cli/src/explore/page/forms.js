// What was typed, chosen and filled in.

/** Hands on what was typed or chosen. @param {(value: string) => void} take */
export const typed = (take) => (/** @type {Event} */ event) => take(/** @type {HTMLInputElement} */ (event.target).value);

/**
 * Hands on the fields of a form by name, without those left empty.
 * @param {(fields: Record<string, string>) => void} take
 */
export const filled = (take) => (/** @type {Event} */ event) => {
  event.preventDefault();
  const form = new FormData(/** @type {HTMLFormElement} */ (event.target));
  take(Object.fromEntries([...form].map(([name, value]) => [name, String(value).trim()]).filter(([, value]) => value)));
};
