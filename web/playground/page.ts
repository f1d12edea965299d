// Small things every part of the page needs.

export function element<T extends HTMLElement>(id: string, kind: new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${kind.name} #${id}`);
  return found;
}

export function show(id: string, text: string): void {
  const place = element(id, HTMLElement);
  if (place.textContent !== text) place.textContent = text;
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString('en-GB');
}

/** Says something the visitor should know, where it does not get in the way. */
export function note(lines: string[]): void {
  const place = element('notes', HTMLElement);
  for (const line of lines) {
    const item = document.createElement('p');
    const close = document.createElement('button');
    close.type = 'button';
    close.textContent = 'Close';
    close.onclick = () => item.remove();
    item.append(line, close);
    place.append(item);
  }
}

export function reducedMotion(): boolean {
  return matchMedia('(prefers-reduced-motion: reduce)').matches;
}
