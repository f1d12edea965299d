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

/** Says something the visitor should know, where it does not get in the way; what is there already, once. */
export function note(lines: string[]): void {
  const place = element('notes', HTMLElement);
  for (const line of lines) {
    if (noted(line)) continue;
    const item = document.createElement('p');
    const close = document.createElement('button');
    close.type = 'button';
    close.textContent = 'Close';
    close.onclick = () => item.remove();
    item.append(line, close);
    place.append(item);
  }
}

/** Takes back what is no longer so. */
export function unnote(line: string): void {
  noted(line)?.remove();
}

function noted(line: string): Element | undefined {
  return [...element('notes', HTMLElement).children].find((item) => item.firstChild?.textContent === line);
}

export function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const LONGEST_FRAME = 0.1;  // seconds

/**
 * Calls `work` for every frame as long as the page is seen, with its time in milliseconds and the seconds since the last
 * one. After a long pause these are few: nothing tries to catch up with what nobody saw.
 */
export function everyFrame(work: (time: number, seconds: number) => void): void {
  let last = 0;
  const frame = (time: number) => {
    requestAnimationFrame(frame);
    if (document.hidden) return;
    const seconds = Math.max(0, Math.min(LONGEST_FRAME, (time - last) / 1000));
    last = time;
    work(time, seconds);
  };
  requestAnimationFrame(frame);
}

/** After so long, once the page is seen. */
export async function whenSeen(milliseconds: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  if (!document.hidden) return;
  await new Promise<void>((resolve) => {
    const listen = () => {
      if (document.hidden) return;
      document.removeEventListener('visibilitychange', listen);
      resolve();
    };
    document.addEventListener('visibilitychange', listen);
  });
}

export function reducedMotion(): boolean {
  return matchMedia('(prefers-reduced-motion: reduce)').matches;
}
