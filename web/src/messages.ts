/**
 * The line of messages: each goes when its cause is gone. A message about a run goes when the next run
 * begins; one about a change, said before the run that the change asks for, stays through that run and goes
 * with the next.
 */

export type Cause = "change" | "run";

export class Messages {
  private runsLeft = 0; // that may begin before the message goes

  constructor(private readonly show: (text: string) => void) {}

  say(text: string, about: Cause): void {
    this.runsLeft = about === "change" ? 1 : 0;
    this.show(text);
  }

  runBegan(): void {
    if (this.runsLeft-- <= 0) this.show("");
  }
}
