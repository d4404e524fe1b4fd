import js from "@eslint/js";
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
  globalIgnores(["dist"]),
  js.configs.recommended,
  { rules: { "max-len": ["error", { code: 110, ignoreUrls: true }] } },
  { files: ["*.js"], languageOptions: { globals: { Buffer: "readonly" } } },
  {
    files: ["**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { project: ["tsconfig.json", "tsconfig.test.json"] } },
    rules: {
      // a function may end with `return this.draw()`, which says: nothing more is done here
      "@typescript-eslint/no-confusing-void-expression": [
        "error",
        { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
      ],
      // what a base class hands to methods of its subclasses
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
      // places in arrays and elements of index.html that the type system cannot know to be there
      "@typescript-eslint/no-non-null-assertion": "off",
      // keys of what is drawn are put together from ids, counts and flags
      "@typescript-eslint/restrict-template-expressions": [
        "error",
        { allowNumber: true, allowBoolean: true, allowNullish: true },
      ],
    },
  },
);
