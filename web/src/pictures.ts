/** Pictures to keep: how dense they are, and how they become files. */

export const PICTURE_DENSITY = 3; // pixels of a saved picture for one of the screen
export const POSTER_PIXELS = 6000; // of the longer side: 50 cm at 300 dots an inch

export function pngOf(canvas: HTMLCanvasElement): Promise<Blob> {
  return new Promise((resolve, reject) =>
    canvas.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new Error("The picture could not be written."))),
      "image/png",
    ),
  );
}

/** An SVG as pixels, so many for each of its units. */
export async function rasterised(svg: string, scale: number): Promise<HTMLCanvasElement> {
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(image.naturalWidth * scale);
    canvas.height = Math.round(image.naturalHeight * scale);
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
    return canvas;
  } finally {
    URL.revokeObjectURL(address);
  }
}
