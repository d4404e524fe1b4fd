/**
 * Fingers on a picture. A swipe up or down scrolls the page, as everywhere; one finger sideways and two
 * fingers are the picture's, and so is a finger that takes hold of a token.
 */

export interface FingerListener {
  /** Whether a finger put down here, in pixels of the canvas, takes hold of something. */
  holds(x: number, y: number): boolean;
  /**
   * Two fingers have moved: how much farther apart they are, as a factor, and how far their middle went, in
   * pixels. Without it two fingers zoom the page.
   */
  pinched?(apart: number, dx: number, dy: number): void;
}

interface Pair {
  apart: number;
  x: number;
  y: number;
}

export const TAP_PIXELS = 8; // a finger that moves less has tapped

function pairOf(touches: TouchList): Pair {
  const [a, b] = [touches[0], touches[1]];
  return {
    apart: Math.max(1, Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY)),
    x: (a.clientX + b.clientX) / 2,
    y: (a.clientY + b.clientY) / 2,
  };
}

export class Fingers {
  /** Two fingers are down, so that what a single one does has no meaning. */
  pinching = false;
  private pair: Pair | null = null;

  constructor(canvas: HTMLCanvasElement, listener: FingerListener) {
    const begin = (event: TouchEvent): void => {
      if (event.touches.length === 1) {
        const box = canvas.getBoundingClientRect();
        const { clientX, clientY } = event.touches[0];
        // else the browser would scroll, and the token be dropped
        if (listener.holds(clientX - box.left, clientY - box.top)) event.preventDefault();
      } else if (listener.pinched !== undefined) {
        event.preventDefault();
        this.pinching = true;
        this.pair = pairOf(event.touches);
      }
    };
    const move = (event: TouchEvent): void => {
      if (!this.pinching || event.touches.length < 2) return;
      if (event.cancelable) event.preventDefault();
      const next = pairOf(event.touches);
      const last = this.pair ?? next;
      this.pair = next;
      listener.pinched?.(next.apart / last.apart, next.x - last.x, next.y - last.y);
    };
    const end = (event: TouchEvent): void => {
      this.pair = null;
      this.pinching = event.touches.length > 1;
    };
    canvas.addEventListener("touchstart", begin, { passive: false });
    canvas.addEventListener("touchmove", move, { passive: false });
    canvas.addEventListener("touchend", end);
    canvas.addEventListener("touchcancel", end);
  }
}
