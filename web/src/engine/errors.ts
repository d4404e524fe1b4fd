/** What was asked for cannot be done: one sentence of fact, one of help. */
export class InputError extends Error {}

/** It can be done, but not in this page: nucleate does it. */
export class OutsideError extends InputError {}
