// The few names of Node's own test runner that these tests use.
declare module "node:test" {
  export default function test(claim: string, body: () => void | Promise<void>): void;
}
declare module "node:assert/strict" {
  const assert: {
    equal(a: unknown, b: unknown, message?: string): void;
    deepEqual(a: unknown, b: unknown, message?: string): void;
    ok(value: unknown, message?: string): void;
    throws(act: () => unknown, words: RegExp, message?: string): void;
    match(text: string, words: RegExp): void;
  };
  export default assert;
}
declare module "node:fs" {
  export function readFileSync(path: string | number, encoding: "utf8"): string;
}
