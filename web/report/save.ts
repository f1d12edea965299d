import type {View} from 'vega';

function offer(name: string, address: string): void {
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
}

/** Lets the reader keep a text as a file. */
export function saveText(name: string, text: string, type: string): void {
  const address = URL.createObjectURL(new Blob([text], {type}));
  offer(name, address);
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export async function savePng(name: string, view: View): Promise<void> {
  offer(`${name}.png`, await view.toImageURL('png', 2));
}

export async function saveSvg(name: string, view: View): Promise<void> {
  saveText(`${name}.svg`, await view.toSVG(), 'image/svg+xml');
}
